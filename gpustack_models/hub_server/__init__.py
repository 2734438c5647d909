"""Owns the local hub: a folder of repositories, served read-only over both hubs' interfaces, with faults for tests.

Refuses writing.
"""
