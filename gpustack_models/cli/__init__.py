"""Owns the command line: one module per command, composed lazily; `output.py` is the only place that prints.

Refuses logic: what a command decides is decided below it.
"""
