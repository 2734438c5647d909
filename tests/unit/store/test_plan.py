"""Owns the rules of a collection, row for row, and the laws that no snapshot can bend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, FileDigest
from gpustack_models.store.capacity import Usage
from gpustack_models.store.facts import (
    BlobFact,
    FailureFact,
    PartialFact,
    PendingFact,
    Snapshot,
    TreeFact,
    WithdrawnFact,
)
from gpustack_models.store.plan import Kind, Plan, plan, removal_of, restricted

DAY = 86_400.0
USAGE = Usage(1000, 900)


def file(number: int, algorithm: Algorithm = Algorithm.SHA256) -> FileDigest:
    return FileDigest(algorithm, f"{number:0{algorithm.hex_length}x}")


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def tree(number: int, *files: int, idle: float = DAY, **held: object) -> TreeFact:
    return TreeFact(digest(number), frozenset(map(file, files)), 0, idle, **held)  # type: ignore[arg-type]


def blobs(*numbers: int) -> tuple[BlobFact, ...]:
    return tuple(BlobFact((file(number),), 10) for number in numbers)


def rows(planned: Plan) -> list[tuple[str, str, int]]:
    return [(str(each.kind), each.name, each.bytes) for each in planned.removals]


@pytest.mark.parametrize(
    ("held", "idle", "goes"),
    [
        pytest.param({}, 600.0, True, id="unreferenced for ten minutes goes"),
        pytest.param({}, 599.0, False, id="unreferenced for less stays"),
        pytest.param({"references": 1}, DAY, False, id="referenced stays"),
        pytest.param({"pinned": True}, DAY, False, id="pinned stays"),
        pytest.param({"running": True}, DAY, False, id="under way stays"),
    ],
)
def test_which_trees_go_at_a_target_of_nothing(held: dict[str, object], idle: float, goes: bool) -> None:
    planned = plan(Snapshot(USAGE, (tree(1, 1, idle=idle, **held),), blobs(1)), 10**9)
    assert rows(planned) == ([("tree", digest(1), 10)] if goes else [])
    assert not planned.enough


def test_least_recently_used_first_and_no_more_than_needed() -> None:
    snapshot = Snapshot(USAGE, (tree(1, 1, idle=700), tree(2, 2, idle=900), tree(3, 3, idle=800)), blobs(1, 2, 3))
    assert rows(plan(snapshot, 15)) == [("tree", digest(2), 10), ("tree", digest(3), 10)]
    assert plan(snapshot, 15).enough


def test_a_shared_blob_goes_with_its_last_tree() -> None:
    snapshot = Snapshot(USAGE, (tree(1, 1, 2, idle=900), tree(2, 2, idle=800)), blobs(1, 2))
    first, second = plan(snapshot, 20).removals
    assert (first.blobs, second.blobs) == ((file(1),), (file(2),))


def test_a_blob_with_two_names_lives_as_long_as_either_is_wanted() -> None:
    both = BlobFact((file(1, Algorithm.GITSHA1), file(1)), 10)
    snapshot = Snapshot(USAGE, (tree(1, 1, idle=900),), (both,))
    assert plan(snapshot, 0).removals == ()
    assert plan(snapshot, 1).removals[0].blobs == both.names


def test_below_the_watermark_only_garbage_goes() -> None:
    snapshot = Snapshot(
        USAGE,
        (tree(1, 1), tree(9, valid=False)),
        blobs(1, 2, 3, 4),
        pending=(
            PendingFact(digest(2), frozenset({file(3), file(5)}), DAY),
            PendingFact(digest(3), frozenset({file(4), file(6)}), DAY - 1),
        ),
        partials=(
            PartialFact("five", file(5), 7, 0.0),
            PartialFact("six", file(6), 7, 9 * DAY),
            PartialFact("stray", None, 5, DAY),
            PartialFact("young", None, 5, DAY - 1),
        ),
        failures=(FailureFact(digest(7), DAY), FailureFact(digest(8), DAY - 1), FailureFact(digest(1), DAY)),
        withdrawn=(WithdrawnFact("broken", 3, 0), WithdrawnFact("mounted", 3, 1)),
    )
    assert rows(plan(snapshot, 0)) == [
        ("blob", str(file(2)), 10),
        ("tree", digest(9), 0),
        ("tree", "broken", 3),
        ("partial", digest(2), 17),
        ("partial", "stray", 5),
        ("failure", digest(7), 0),
    ]


def test_by_name_goes_all_that_is_known_of_a_digest() -> None:
    snapshot = Snapshot(
        USAGE,
        (tree(1, 1, 2), tree(2, 2)),
        blobs(1, 2),
        pending=(PendingFact(digest(3), frozenset({file(7)}), 0.0),),
        partials=(PartialFact("seven", file(7), 4, 0.0),),
        failures=(FailureFact(digest(3), 0.0),),
    )
    assert rows(removal_of(snapshot, digest(1))) == [("tree", digest(1), 10)]
    assert rows(removal_of(snapshot, digest(3))) == [("partial", digest(3), 4), ("failure", digest(3), 0)]


trees = st.builds(
    lambda number, files, idle, references, pinned, running: TreeFact(
        digest(number), frozenset(map(file, files)), 0, idle, references, pinned, running
    ),
    st.integers(0, 30),
    st.sets(st.integers(0, 12), max_size=4),
    st.floats(0, 2000),
    st.integers(0, 1),
    st.booleans(),
    st.booleans(),
)
snapshots = st.builds(
    lambda held, names, asked: Snapshot(
        USAGE,
        tuple(held),
        blobs(*sorted(names)),
        pending=tuple(PendingFact(digest(100 + n), frozenset({file(n)}), 0.0) for n in asked),
    ),
    st.lists(trees, max_size=8, unique_by=lambda each: each.digest),
    st.sets(st.integers(0, 12)),
    st.sets(st.integers(0, 12), max_size=3),
)


@given(snapshots, st.integers(0, 200))
def test_laws(snapshot: Snapshot, wanted: int) -> None:
    planned = plan(snapshot, wanted)
    gone = {each.name for each in planned.removals if each.kind is Kind.TREE}
    stay = [each for each in snapshot.trees if each.digest not in gone]
    assert all(each.digest in {tree.digest for tree in stay} for each in snapshot.trees if each.references)
    assert not any(
        each.pinned or each.running or each.references or each.idle < 600
        for each in snapshot.trees
        if each.digest in gone
    )
    # Exactly the blobs go that nothing which stays needs.
    needed = frozenset[FileDigest]().union(*(each.files for each in stay), *(each.files for each in snapshot.pending))
    removed = {blob for each in planned.removals for blob in each.blobs}
    assert removed == {name for blob in snapshot.blobs for name in blob.names} - needed
    assert planned.frees == 10 * len(removed)
    # A tree stays although more is wanted only where the rules keep it.
    if not planned.enough:
        assert all(each.references or each.pinned or each.running or each.idle < 600 for each in stay)


@given(snapshots, snapshots, st.integers(0, 200))
def test_a_plan_decided_again_does_nothing_new(before: Snapshot, after: Snapshot, wanted: int) -> None:
    allowed, fresh = plan(before, wanted), plan(after, wanted)
    done = restricted(allowed, fresh)
    assert {each.name for each in done.removals} <= {each.name for each in allowed.removals}
    assert {blob for each in done.removals for blob in each.blobs} <= {
        blob for each in fresh.removals for blob in each.blobs
    }
    assert restricted(allowed, allowed).removals == allowed.removals
