"""Owns what a person looks at first: one folder per row of the delivery table, and the demonstration of `make demo`."""
