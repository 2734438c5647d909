"""Owns the repositories that the local hub's tests publish."""

from __future__ import annotations

VERSIONED = """
commits:
  - {name: old, folder: v1, message: First}
  - {name: new, folder: v2, message: Second}
branches: {main: new, dev: old}
tags: {light: old, heavy: {commit: old, message: Annotated}}
pull_requests: {1: old}
"""
VERSIONS = {"v1/config.json": "1", "v1/weights.bin": "old weights", "v2/config.json": "2", "v2/a/deep.json": "{}"}


def closed(access: str) -> str:
    """Settings of a repository that only alice reads."""
    return f"access: {access}\nreaders: alice\n"
