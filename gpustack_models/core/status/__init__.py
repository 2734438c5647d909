"""Owns conditions and phases, from facts: one function per condition.

Refuses clocks: the time is handed in.
"""
