"""Finds in which directions the vectors of the multilingual model differ by language alone."""
