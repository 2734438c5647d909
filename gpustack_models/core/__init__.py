"""Owns every decision, as pure functions over frozen values.

Refuses sockets, files, clocks and randomness.
"""
