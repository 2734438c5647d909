"""Owns which paths a `.gitattributes` file sends to LFS, by a table. tests/integration asks git itself."""

import pytest

from gpustack_models.core.gitattributes import has_lfs_rules, lfs_paths, lfs_paths_of

LFS = "filter=lfs diff=lfs merge=lfs -text"

ROWS = {
    "a suffix matches at any depth": (f"*.bin {LFS}", "a/b/model.bin", True),
    "a suffix does not match another": (f"*.bin {LFS}", "model.bin.txt", False),
    "a plain name matches at any depth": (f"model.safetensors {LFS}", "x/model.safetensors", True),
    "a plain name is the whole name": (f"model.safetensors {LFS}", "my-model.safetensors", False),
    "a star in the middle": (f"*.tar.* {LFS}", "a.tar.zst", True),
    "a leading slash is the root only": (f"/model.bin {LFS}", "x/model.bin", False),
    "a leading slash at the root": (f"/model.bin {LFS}", "model.bin", True),
    "a slash anchors": (f"onnx/*.bin {LFS}", "x/onnx/a.bin", False),
    "a star stays in its folder": (f"onnx/*.bin {LFS}", "onnx/x/a.bin", False),
    "two stars cross folders": (f"saved_model/**/* {LFS}", "saved_model/a/b/c", True),
    "two stars match no folder too": (f"saved_model/**/* {LFS}", "saved_model/c", True),
    "two stars at the end": (f"saved_model/** {LFS}", "saved_model/a/b", True),
    "two stars at the start": (f"**/big {LFS}", "a/b/big", True),
    "two stars inside a name are one": (f"x/a**b {LFS}", "x/a/b", False),
    "a folder pattern says nothing of files": (f"saved_model/ {LFS}", "saved_model/c", False),
    "a question mark": (f"v?.bin {LFS}", "v1.bin", True),
    "a question mark is one byte": (f"v?.bin {LFS}", "vé.bin", False),
    "a class": (f"*.[bp]t {LFS}", "a.pt", True),
    "a negated class": (f"*.[!bp]t {LFS}", "a.pt", False),
    "a range": (f"shard-[0-9].x {LFS}", "shard-7.x", True),
    "a named class": (f"shard-[[:digit:]].x {LFS}", "shard-7.x", True),
    "a class never matches a slash": (f"a[!x]b {LFS}", "a/b", False),
    "an open class matches nothing": (f"a[x {LFS}", "a[x", False),
    "an escape": (f"a\\*.bin {LFS}", "ab.bin", False),
    "an escaped star": (f"a\\*.bin {LFS}", "a*.bin", True),
    "a quoted pattern": (f'"my model.bin" {LFS}', "my model.bin", True),
    "a quoted pattern with octal": (f'"caf\\303\\251.bin" {LFS}', "café.bin", True),
    "the last rule wins, unset": (f"*.bin {LFS}\nsmall.bin -filter", "small.bin", False),
    "the last rule wins, unspecified": (f"*.bin {LFS}\nsmall.bin !filter", "small.bin", False),
    "the last rule wins, set again": (f"*.bin -filter\n*.bin {LFS}", "a.bin", True),
    "another filter is not LFS": ("*.bin filter=other", "a.bin", False),
    "no value is not LFS": ("*.bin filter", "a.bin", False),
    "a rule of other attributes keeps it": (f"*.bin {LFS}\n*.bin text", "a.bin", True),
    "a comment": (f"# *.bin {LFS}", "a.bin", False),
    "a negative pattern is ignored": (f"!*.bin {LFS}", "a.bin", False),
    "windows line ends": (f"*.bin {LFS}\r\n*.pt {LFS}\r\n", "a.pt", True),
    "a byte order mark": (f"\ufeff*.bin {LFS}", "a.bin", True),
    "a macro": (f"[attr]weights {LFS}\n*.w weights", "a.w", True),
    "a bad attribute name drops its line": ("*.bin filter=lfs &x", "a.bin", False),
    "nothing": ("", "a.bin", False),
}


@pytest.mark.parametrize(("text", "path", "expected"), ROWS.values(), ids=ROWS)
def test_a_path_is_lfs_when_git_says_so(text: str, path: str, expected: bool) -> None:
    assert lfs_paths(text)(path) is expected


def test_a_deeper_file_wins() -> None:
    is_lfs = lfs_paths_of([("a", "*.bin -filter"), ("", f"*.bin {LFS}"), ("b/c", f"*.json {LFS}")])
    verdicts = {path: is_lfs(path) for path in ("x.bin", "a/x.bin", "a/b/x.bin", "b/c/x.json", "b/x.json")}
    assert verdicts == {"x.bin": True, "a/x.bin": False, "a/b/x.bin": False, "b/c/x.json": True, "b/x.json": False}


@pytest.mark.parametrize(
    ("text", "expected"), [(f"*.bin {LFS}", True), ("*.txt text", False), ("*.bin -filter", False), ("", False)]
)
def test_whether_a_file_has_lfs_rules_at_all(text: str, expected: bool) -> None:
    assert has_lfs_rules(text) is expected
