"""Owns the hubs: requests built and answers parsed by pure functions, sent by one HTTP client.

Refuses Kubernetes, the store, and any token that would leave its hub.
"""
