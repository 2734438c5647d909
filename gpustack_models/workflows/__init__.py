"""Owns the wiring of what a person asks for: resolve, digest, verify, pull.

Refuses decisions (they are in the core) and printing (it is in the command line).
"""
