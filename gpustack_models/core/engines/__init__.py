"""Owns what each engine's command line and environment accept, as data: one table per engine.

Refuses knowledge of the other engine.
"""
