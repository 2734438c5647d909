"""Owns every reason that a resolution can end with, produced over the wire, with its exit status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from gpustack_models.errors import MEANINGS, Reason
from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import HubFactory, Publish

FILES = {"config.json": "{}", "model.bin": b"\x01" * 64, ".gitattributes": "*.bin filter=lfs\n"}
HF, MS = "hf://team/open", "ms://team/open"


@dataclass(frozen=True)
class Row:
    """What is asked of a hub with a fault, and the reason that it must end with."""

    reason: Reason
    reference: str
    fault: str = ""
    path: str = "*"
    options: Mapping[str, object] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    says: str = ""


# One attempt at a time would take minutes: a hub that stays away is given up on by --timeout.
SHORT = ("--timeout", "2")

ROWS = {
    "hf-resolved": Row(Reason.RESOLVED, HF),
    "ms-resolved": Row(Reason.RESOLVED, MS),
    "hf-no-revision": Row(Reason.REVISION_NOT_FOUND, HF + "@nope", says="has no such revision"),
    "ms-no-revision": Row(Reason.REVISION_NOT_FOUND, MS + "@nope"),
    "ms-no-file-tree": Row(Reason.REVISION_NOT_FOUND, MS + "@" + "0" * 40),
    "hf-no-repository": Row(Reason.ACCESS_DENIED, "hf://team/none", says="does not exist or is not accessible"),
    "ms-no-repository": Row(Reason.ACCESS_DENIED, "ms://team/none", says="does not exist or is not accessible"),
    "hf-private": Row(Reason.ACCESS_DENIED, "hf://team/private", says="does not exist or is not accessible"),
    "ms-private": Row(Reason.ACCESS_DENIED, "ms://team/private", says="does not exist or is not accessible"),
    "hf-gated": Row(Reason.ACCESS_DENIED, "hf://team/gated"),
    "ms-gated": Row(Reason.ACCESS_DENIED, "ms://team/gated"),
    "hf-masked": Row(Reason.ACCESS_DENIED, HF, "masked_tree", "*/tree/*"),
    "hf-head-refused": Row(Reason.ACCESS_DENIED, HF, "status", "*/resolve/*", {"status": 403}),
    "hf-500": Row(Reason.SOURCE_UNAVAILABLE, HF, "status", "*/revision/*", {"status": 500}, SHORT),
    "hf-429": Row(
        Reason.SOURCE_UNAVAILABLE, HF, "status", "*", {"status": 429, "retry_after": "60"}, SHORT, says="rate-limiting"
    ),
    "ms-503": Row(Reason.SOURCE_UNAVAILABLE, MS, "status", "*/commits*", {"status": 503}, SHORT),
    "hf-silence": Row(Reason.SOURCE_UNAVAILABLE, HF, "silence", "*", {}, SHORT, says="did not answer"),
    "hf-reset": Row(Reason.SOURCE_UNAVAILABLE, HF, "reset", "*", {"at": -1}, SHORT),
    "hf-truncated": Row(Reason.SOURCE_UNAVAILABLE, HF, "truncated", "*/tree/*", {"at": 20}, SHORT),
    "hf-login-page": Row(Reason.SOURCE_UNAVAILABLE, HF, "not_json", "*/revision/*"),
    "hf-bad-commit": Row(Reason.SOURCE_UNAVAILABLE, HF, "bad_commit", "*/revision/*"),
    "hf-foreign-page": Row(Reason.SOURCE_UNAVAILABLE, "hf://team/paged", "foreign_page", "*/tree/*"),
    "ms-git-disagrees": Row(Reason.SOURCE_UNAVAILABLE, MS, "disagreeing_git", "*info/refs*", says="its git"),
    "ms-git-names-nothing": Row(Reason.SOURCE_UNAVAILABLE, MS, "missing_refs", "*info/refs*"),
    "nothing-kept": Row(Reason.EMPTY_MANIFEST, HF, more=("--allow", "*.gguf"), says="keep no file"),
    "hf-unknown-type": Row(Reason.INVALID_MANIFEST, HF, "unknown_type", "*/tree/*"),
    "hf-lfs-size": Row(Reason.INVALID_MANIFEST, HF, "lfs_size", "*/tree/*"),
    "hf-bad-path": Row(Reason.INVALID_MANIFEST, HF, "bad_path", "*/tree/*", {"value": "../escape"}),
    "hf-listed-twice": Row(Reason.INVALID_MANIFEST, HF, "duplicate_entry", "*/tree/*"),
    "ms-without-sha256": Row(Reason.INVALID_MANIFEST, MS, "no_sha256", "*/repo/files*"),
    "hf-page-too-large": Row(Reason.MANIFEST_TOO_LARGE, HF, "padded", "*/tree/*", {"at": 17 << 20}),
    "another-digest": Row(Reason.DIGEST_MISMATCH, HF, more=("--expect", "sha256:" + "0" * 64)),
    "bad-reference": Row(Reason.INVALID_REFERENCE, "hf://a/b/c/d"),
    "a-folder": Row(Reason.INVALID_REFERENCE, "./models"),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_reason(row: Row, gsm: Gsm, local_hub: HubFactory, publish: Publish) -> None:
    for name, settings in (("open", ""), ("paged", ""), ("private", "access: private"), ("gated", "access: gated")):
        publish(f"team/{name}", FILES, settings)
    hub = local_hub(page_size=2)
    if row.fault:
        hub.fault(row.fault, row.path, **row.options)
    ran = gsm("resolve", row.reference, "-o", "json", *row.more, hub=hub)
    (result,) = ran.json
    assert ran.status == MEANINGS[row.reason].exit_status, ran.err
    assert result.get("error", {"reason": Reason.RESOLVED})["reason"] == row.reason
    if row.reason is not Reason.RESOLVED:
        name = row.reference.removeprefix("hf://").removeprefix("ms://").partition("@")[0]
        assert name in result["error"]["message"]
        assert row.says in ran.err
        assert "error:" in ran.err
    if row.fault == "status" and row.reason is Reason.SOURCE_UNAVAILABLE:
        assert f"hint: try again later; {hub.url} was asked" in ran.err


def test_every_reason_of_a_hub_has_a_row() -> None:
    # A Secret and a claim exist in a cluster only.
    of_resolution = list(Reason)[: list(Reason).index(Reason.DIGEST_MISMATCH) + 1]
    assert {row.reason for row in ROWS.values()} >= {
        reason for reason in of_resolution if reason not in (Reason.SECRET_NOT_FOUND, Reason.CLAIM_NOT_FOUND)
    }
