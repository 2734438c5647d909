"""Owns `gsm node-store log`.

Refuses to change what happened.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gpustack_models.cli import lazy
from gpustack_models.cli.node_store import common

app = lazy.single()


@app.command(epilog=lazy.examples("gsm node-store log", "gsm node-store log -n 1000 -o json"))
def log(
    root: common.Root = None,
    number: Annotated[int, typer.Option("--number", "-n", metavar="N", min=1, help="The last so many events.")] = 50,
    output: common.Output = common.Format.TABLE,
) -> None:
    """Print what happened to the store, newest last: published, failed, removed, broken, mended, pinned.

    The history is bounded to about a megabyte; what is older is gone.
    """
    from gpustack_models.cli.output import Output
    from gpustack_models.store.handles import storing
    from gpustack_models.store.history import read
    from gpustack_models.store.store import Store

    out = Output()
    with Store.open(common.root_of(root)) as store, storing("the history cannot be read"):
        events = read(store.root.ledger)[-number:]
    if output is not common.Format.TABLE:
        fields = [{"time": common.stamp(each.time), "event": each.event, "digest": each.digest} for each in events]
        out.document(output, [{**field, **each.details} for field, each in zip(fields, events, strict=True)])
    elif events:
        rows = [
            (
                common.local(each.time),
                each.event,
                each.digest,
                " ".join(
                    f"{name}={_shown(value)}" for name, value in each.details.items() if value not in ("", [], {}, None)
                ),
            )
            for each in events
        ]
        out.table(("TIME", "EVENT", "DIGEST", "DETAILS"), rows)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}:{each}" for key, each in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
