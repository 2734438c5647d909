"""Owns the node store: layout, scan, download, verify, publish, collect, ledger.

Refuses hubs and Kubernetes: what to fetch and from where is handed to it.
"""
