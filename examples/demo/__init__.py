"""The demonstration of `make demo`, and the small real model that it and the tests serve."""
