"""Owns delivery: artifact, workload, settings and cluster facts in; what is rendered, or the one reason why not, out.

Refuses I/O: every function is pure, so that a laptop, CI, the operator and the node plugin give one answer.
"""
