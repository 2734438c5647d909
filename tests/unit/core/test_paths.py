"""Paths are printed as Kubernetes prints them, and lists are compared by their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core import paths
from gpustack_models.core.paths import EACH, Key, Path

STEPS = st.one_of(
    st.from_regex(r"[a-z][A-Za-z0-9]*", fullmatch=True),
    st.integers(0, 99),
    st.from_regex(r"[a-z.]+/[a-z-]+", fullmatch=True).map(Key),
)
KEYS: paths.Keys = {("roles",): ("name",)}
OLD = {"roles": [{"name": "a", "args": [1]}, {"name": "b", "args": [2]}], "plain": [1, 2]}


@pytest.mark.parametrize(
    ("path", "printed"),
    [
        ((), ""),
        (("spec",), "spec"),
        (("spec", "roles", 0, "extraArgs", 1), "spec.roles[0].extraArgs[1]"),
        (("spec", "labels", Key("tier")), "spec.labels[tier]"),
        (("spec", "labels", "a.b/c"), "spec.labels[a.b/c]"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_path_is_printed(path: Path, printed: str) -> None:
    assert paths.text(path) == printed


@given(st.lists(STEPS).filter(lambda path: not path or isinstance(path[0], str)).map(tuple))
def test_a_printed_path_is_read_back(path: Path) -> None:
    assert paths.parse(paths.text(path)) == path


def test_each_finds_what_is_written() -> None:
    found = list(paths.each(OLD, ("roles", EACH, "args", EACH)))
    assert found == [(("roles", 0, "args", 0), 1), (("roles", 1, "args", 0), 2)]
    assert list(paths.each({"labels": {"a": "b"}}, ("labels", EACH))) == [(("labels", "a"), "b")]
    assert list(paths.each(OLD, ("missing", EACH))) == []


@pytest.mark.parametrize(
    ("new", "path", "before"),
    [
        ({"roles": [{"name": "b"}]}, ("roles", 0, "args"), [2]),
        ({"roles": [{"name": "c"}]}, ("roles", 0, "args"), None),
        ({"roles": [[]]}, ("roles", 0, "args"), None),
        ({"plain": [1]}, ("plain", 0), None),
        ({"plain": [1]}, ("plain",), [1, 2]),
        ({"roles": "x"}, ("roles", 0), None),
    ],
    ids=["moved", "another", "not-a-map", "plain-item", "plain-list", "not-a-list"],
)
def test_old_is_found_by_keys(new: object, path: Path, before: object) -> None:
    assert paths.correlated(new, OLD, path, KEYS) == before
