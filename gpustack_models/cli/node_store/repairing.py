"""Owns bringing broken trees back, and how a verification ends: what was found, what was repaired, the exit status.

Refuses to call a store sound of which anything is still broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gpustack_models.cli import asking
from gpustack_models.cli.asking import Asking
from gpustack_models.cli.node_store import common, pulling
from gpustack_models.cli.output import Output, counted, size_text
from gpustack_models.cli.results import conclude, error_object
from gpustack_models.errors import GsmError, Reason
from gpustack_models.store.scrub import Scrubbed
from gpustack_models.store.sources import Limits
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Writer
from gpustack_models.workflows import mend
from gpustack_models.workflows.pull import Pulled

#: What became of each digest that was to be repaired.
Repaired = dict[str, Pulled | GsmError]


def repair(
    out: Output, root: Path, store: Store, digests: Sequence[str], peers: tuple[str, ...], ask: Asking, stack: ExitStack
) -> Repaired:
    """Pull digests again, from peers and from the hubs that their names lead to."""
    assert isinstance(store, Writer)  # noqa: S101 - a repair is asked of a writer alone
    hubs = asking.open_hubs(out, sorted(mend.hubs_of(store, digests)), ask, stack)
    sources = mend.Sources({kind: opened.hub for kind, opened in hubs.items()}, peers)
    wanted = [mend.wanted_again(store, digest, sources) for digest in digests]
    job = pulling.Job(out, root, common.watermarks(common.HIGH, common.LOW), Limits(), peers, now=True)
    return dict(zip(digests, pulling.run_with(job, store, wanted), strict=True))


def show(out: Output, output: common.Format, found: Scrubbed, repaired: Repaired | None) -> int:
    """Print what was found; the status is 0 when everything is sound, or was made so."""
    outcomes = repaired or {}
    trees = {tree.digest: tree.why for tree in found.broken_trees}
    trees |= {digest: "not published" for digest in outcomes if digest not in trees}
    blobs = [blob for blob in found.broken_blobs if not trees]
    if output is not common.Format.TABLE:
        out.document(
            output,
            {
                "trees": found.trees,
                "files": found.files,
                "bytes": found.bytes,
                "brokenTrees": [_object(digest, why, outcomes.get(digest)) for digest, why in trees.items()],
                "brokenFiles": [{"digest": str(name), "why": b.why} for b in found.broken_blobs for name in b.names],
            },
        )
    elif trees or blobs:
        rows = [(digest, _word(outcomes.get(digest)), why) for digest, why in trees.items()]
        rows += [(str(blob.names[0]), "removed", f"{blob.why}; no tree shows it") for blob in blobs]
        out.table(("DIGEST", "STATE", "WHY"), rows)
    out.note(
        f"{counted(found.trees, 'tree')}, {counted(found.files, 'file')}, {size_text(found.bytes)} hashed; "
        f"{counted(len(found.broken_trees), 'tree')} broken"
    )
    left = [digest for digest in trees if not isinstance(outcomes.get(digest), Pulled)]
    if not left:
        return 0
    failed = [outcome for outcome in outcomes.values() if isinstance(outcome, GsmError)]
    broken = GsmError(
        Reason.INTEGRITY_MISMATCH,
        f"{counted(len(left), 'tree')} broken: {left[0]}",
        hint="" if repaired else "gsm node-store verify --repair fetches the broken files again",
    )
    return conclude(out, [broken, *failed])


def _object(digest: str, why: str, outcome: Pulled | GsmError | None) -> dict[str, object]:
    told = {"error": error_object(outcome)} if isinstance(outcome, GsmError) else {}
    return {"digest": digest, "why": why, "repaired": isinstance(outcome, Pulled), **told}


def _word(outcome: Pulled | GsmError | None) -> str:
    if outcome is None:
        return "withdrawn"
    return "repaired" if isinstance(outcome, Pulled) else "not repaired"
