"""Which binary comes from where, and when a cache folder changes."""

from __future__ import annotations

import pytest

from tests.bed.errors import BedError
from tests.bed.recipes import CONTROL_PLANE, MODULES, NODE, RECIPES, cache_key, ldflags, recipe, version

GO_MOD = """module testbed.invalid/kubernetes

go 1.26.0

tool k8s.io/kubernetes/cmd/kubelet

require k8s.io/kubernetes v1.36.3

require (
\tk8s.io/kubernetes/staging v0.0.1 // indirect
\tk8s.io/api v0.36.3 // indirect
)

replace (
\tk8s.io/api => k8s.io/api v0.36.3
)
"""


@pytest.mark.parametrize(
    ("package", "wanted"),
    [
        pytest.param("k8s.io/kubernetes/cmd/kubelet", "v1.36.3", id="a package of the module"),
        pytest.param("k8s.io/kubernetes/staging/x", "v0.0.1", id="the longest module wins"),
        pytest.param("k8s.io/api", "v0.36.3", id="the module itself, indirect"),
    ],
)
def test_version_of_a_package(package: str, wanted: str) -> None:
    assert version(GO_MOD, package) == wanted


@pytest.mark.parametrize("package", ["k8s.io/kubernetesx/cmd", "k8s.io", "example.com/x"])
def test_version_of_an_unknown_package_is_an_error(package: str) -> None:
    with pytest.raises(BedError, match=package):
        version(GO_MOD, package)


def test_kubernetes_is_stamped_with_what_go_mod_requires() -> None:
    stamp = ldflags("kubernetes", GO_MOD)
    assert "version.gitVersion=v1.36.3" in stamp
    assert "version.gitMajor=1 " in stamp
    assert stamp.endswith("version.gitMinor=36")
    assert ldflags("etcd", GO_MOD) == "-s -w"


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("go.mod", ("kubernetes", GO_MOD.replace("v1.36.3", "v1.36.4").encode(), b"sum", "x86_64")),
        ("go.sum", ("kubernetes", GO_MOD.encode(), b"other", "x86_64")),
        ("the platform", ("kubernetes", GO_MOD.encode(), b"sum", "aarch64")),
        ("the module", ("containerd", GO_MOD.encode(), b"sum", "x86_64")),
        ("bytes moved over a border", ("kubernetes", GO_MOD.encode()[:-1], b"\nsum", "x86_64")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_cache_folder_changes_with(what: str, arguments: tuple[str, bytes, bytes, str]) -> None:
    key = cache_key("kubernetes", GO_MOD.encode(), b"sum", "x86_64")
    assert key.startswith("kubernetes-")
    assert cache_key("kubernetes", GO_MOD.encode(), b"sum", "x86_64") == key
    assert cache_key(*arguments) != key


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_row_has_its_module_which_requires_it_and_names_it_as_a_tool(name: str) -> None:
    row = recipe(name)
    go_mod = (MODULES / row.module / "go.mod").read_text()
    assert version(go_mod, row.package).startswith("v")
    assert row.package in go_mod.split()
    assert (MODULES / row.module / "go.sum").stat().st_size > 0


def test_every_module_has_a_row() -> None:
    assert {path.parent.name for path in MODULES.glob("*/go.mod")} == {row.module for row in RECIPES.values()}


def test_one_module_builds_with_one_set_of_tags() -> None:
    tags = {(row.module, row.tags) for row in RECIPES.values()}
    assert len(tags) == len({row.module for row in RECIPES.values()})


def test_a_major_version_is_no_name() -> None:
    assert recipe("etcd").built_as == "server"
    assert {name: recipe(name).built_as for name in (*CONTROL_PLANE[1:], *NODE)} == {
        name: name for name in (*CONTROL_PLANE[1:], *NODE)
    }


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BedError, match="kubelet") as refused:
        recipe("kubelt")
    assert "'kubelt'" in str(refused.value)
