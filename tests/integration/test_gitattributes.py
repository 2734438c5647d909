"""Owns that our reading of `.gitattributes` is git's: git itself is asked about generated rules and paths."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack_models.core.gitattributes import lfs_paths_of

NAMES = st.text(alphabet='ab.*?[]!^-\\/x"é ', min_size=1, max_size=8)
PIECES = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "*",
            "**",
            "?",
            "/",
            "[ab]",
            "[!a]",
            "[a-b]",
            "\\*",
            ".bin",
            "[[:alpha:]]",
            "x",
            "é",
            "a/",
            "**/",
            "/**",
            "/**/",
            "*/",
            "a/**/b",
            "/a",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join)
ATTRIBUTES = st.sampled_from(
    [
        "filter=lfs",
        "filter=lfs diff=lfs -text",
        "-filter",
        "!filter",
        "filter=other",
        "text",
        "filter",
        "big",
        "-big",
        "!big",
    ]
)
RULES = st.lists(st.tuples(PIECES | NAMES, ATTRIBUTES).map(" ".join), max_size=5).map("\n".join)
ROOT_RULES = st.tuples(st.sampled_from(["", "[attr]big filter=lfs\n", "[attr]big -filter\n"]), RULES).map("".join)
PATHS = st.lists(
    st.lists(st.sampled_from(["a", "a", "b", "b", "ab", "x.bin", "a*", "é", "xa"]), min_size=1, max_size=5).map(
        "/".join
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


def asked_of_git(folder: Path, paths: list[str]) -> dict[str, bool]:
    command = ["git", "-c", "core.quotePath=false", "check-attr", "--stdin", "-z", "filter"]
    done = subprocess.run(command, cwd=folder, input="\0".join(paths).encode(), capture_output=True, check=True)
    fields = done.stdout.decode().split("\0")
    return {fields[index]: fields[index + 2] == "lfs" for index in range(0, len(fields) - 1, 3)}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(root=ROOT_RULES, inner=RULES, paths=PATHS)
def test_git_says_the_same(root: str, inner: str, paths: list[str], tmp_path: Path) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
        (tmp_path / "a").mkdir()
    (tmp_path / ".gitattributes").write_text(root)
    (tmp_path / "a" / ".gitattributes").write_text(inner)
    is_lfs = lfs_paths_of([("", root), ("a", inner)])
    assert {path: is_lfs(path) for path in paths} == asked_of_git(tmp_path, paths)
