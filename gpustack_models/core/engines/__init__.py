"""Owns what each engine's command line and environment accept, as data: one table per engine.

Refuses knowledge of one engine in another's module; `catalogue` alone knows them all.
"""
