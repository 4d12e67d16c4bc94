"""Whether one caller can keep others from being answered: goals, and what a service reaches of them."""
