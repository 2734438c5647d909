"""Owns every admission rule as one row: id, resource, what it looks at, message, where it is enforced.

Refuses a second table: the CRDs, the webhook and the laptop read this one.
"""
