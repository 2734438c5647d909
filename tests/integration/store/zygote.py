"""Owns starting `gsm` processes fast: everything is imported once, and each command runs in a fork of that.

Refuses threads of its own, so that a fork is as good as a new process. One JSON line in is a command; out come its
process id, and its exit status when it ended.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    from gpustack_models.cli import app, asking  # noqa: F401 - imported here, so that no fork has to
    from gpustack_models.cli.node_store import pull, pulling, repairing, rm, verify  # noqa: F401
    from gpustack_models.hubs import huggingface, modelscope, open, tokens  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(order["environment"])
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(os.open(order["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            status = app.run(order["arguments"])
            os._exit(status)
        print(json.dumps({"pid": child}), flush=True)
        _, ended = os.waitpid(child, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(ended)}), flush=True)


if __name__ == "__main__":
    main()
