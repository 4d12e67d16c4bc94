"""The bar: whether the recall finds as much as plain methods do, in small stores and in large ones."""
