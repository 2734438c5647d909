"""Owns access to a cluster: caches, work queue, leader lease, events, patches.

Refuses domain rules.
"""
