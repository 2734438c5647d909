"""Owns `gsm node-store`: its table of commands, each a module of its own.

Refuses what a command does; its module does that, and is imported when the command runs.
"""

from __future__ import annotations

from gpustack_models.cli import lazy

_HERE = "gpustack_models.cli.node_store"


def _row(name: str, module: str, help_: str, example: str) -> lazy.Row:
    return lazy.Row(name, f"{_HERE}.{module}", help_, f"gsm node-store {example}")


ROWS: tuple[lazy.Row, ...] = (
    _row(
        "pull",
        "pull",
        "Fetch what is missing, verify every byte, publish, print the path.",
        "pull hf://Qwen/Qwen2.5-0.5B-Instruct",
    ),
    _row("ls", "ls", "What is here, what is under way, what failed.", "ls"),
    _row("status", "status", "Room, watermarks, running downloads, failures and when they are tried again.", "status"),
    _row("path", "path", "The folder of a published tree.", "path 669ed7b1"),
    _row("verify", "verify", "Hash what is published again; withdraw or repair what broke.", "verify --repair"),
    _row("gc", "gc", "Remove what nobody needs, least recently used first.", "gc --dry-run"),
    _row("rm", "rm", "Remove one digest.", "rm 669ed7b1"),
    _row("pin", "pin", "Keep a digest whatever the watermarks say.", "pin 669ed7b1 --note demo"),
    _row("unpin", "unpin", "Let a digest be removed again.", "unpin 669ed7b1"),
    _row(
        "import",
        "import_",
        "Adopt a folder that is here already: every byte hashed, none written twice.",
        "import ~/.cache/huggingface/hub hf://Qwen/Qwen2.5-0.5B-Instruct",
    ),
    _row("export", "export", "Copy a published tree out.", "export 669ed7b1 ./qwen"),
    _row("log", "log", "What happened, newest last.", "log"),
)

app = lazy.group(ROWS, name="node-store", help="One verified copy of each model on this machine.")
