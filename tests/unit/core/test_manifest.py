"""Owns the laws of the canonical manifest, its golden vectors and its hostile inputs. Refuses the hubs' answers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpustack_models.core import manifest as module
from gpustack_models.core.manifest import (
    MAX_ENTRIES,
    Algorithm,
    Entry,
    FileDigest,
    Manifest,
    check_expected,
    difference,
    git_blob_header,
    is_digest,
    problem_of,
    problem_of_path,
)
from gpustack_models.core.patterns import Patterns
from gpustack_models.errors import GsmError, Reason

from .strategies import entries, hostile_paths, listings, sizes


def reading(read: Callable[[], Manifest]) -> Manifest | Reason:
    try:
        return read()
    except GsmError as error:
        return error.reason


SHA = FileDigest(Algorithm.SHA256, "81" * 32)
GIT = FileDigest(Algorithm.GITSHA1, "4f" * 20)
VECTOR = Path(__file__).parents[2] / "vectors" / "hf-qwen2.5-0.5b-instruct.tree.json"


def vector() -> list[Entry]:
    return [
        Entry(
            item["path"],
            item["size"],
            FileDigest(Algorithm.SHA256, item["lfs"]["oid"])
            if "lfs" in item
            else FileDigest(Algorithm.GITSHA1, item["oid"]),
        )
        for item in json.loads(VECTOR.read_text())
    ]


@pytest.mark.parametrize(
    ("patterns", "digest", "files", "size"),
    [
        pytest.param(
            None, "sha256:669ed7b128b6ad1658d735326bd172a33497ecdb8bbd72dd0b23c98b58469448", 10, 999604126, id="whole"
        ),
        pytest.param(
            Patterns(("*.safetensors", "*.json", "tokenizer*"), ("original/",)),
            "sha256:0ad6708d42047a2354979bf99d11a6ca7a82522a1fcfb0230c729057255dbc03",
            6,
            997914508,
            id="filtered",
        ),
    ],
)
def test_a_real_listing_has_its_published_digest(patterns: Patterns | None, digest: str, files: int, size: int) -> None:
    manifest = Manifest.of(vector(), patterns)
    assert (manifest.digest, manifest.file_count, manifest.size) == (digest, files, size)


def test_the_bytes_are_one_sorted_line_a_file() -> None:
    listed = [Entry("model.safetensors", 453864, SHA), Entry("config.json", 807, GIT)]
    assert Manifest.of(listed).data == (
        b"gpustack-manifest v1\n"
        b"gitsha1:" + b"4f" * 20 + b" 807 config.json\n"
        b"sha256:" + b"81" * 32 + b" 453864 model.safetensors\n"
    )


@given(st.data(), listings)
def test_the_order_of_entries_changes_nothing(data: st.DataObject, listed: list[Entry]) -> None:
    shuffled = data.draw(st.permutations(listed))
    assert Manifest.of(shuffled) == Manifest.of(listed)


@given(listings)
def test_the_sort_is_by_the_bytes_of_the_path(listed: list[Entry]) -> None:
    paths = [entry.path.encode() for entry in Manifest.of(listed).entries]
    assert paths == sorted(paths)


@given(listings)
def test_printing_and_parsing_are_inverse(listed: list[Entry]) -> None:
    manifest = Manifest.of(listed)
    assert Manifest.parse(manifest.data) == manifest
    assert Manifest.parse(manifest.data).data == manifest.data


@given(listings)
def test_the_digest_is_that_of_the_bytes(listed: list[Entry]) -> None:
    manifest = Manifest.of(listed)
    assert manifest.digest == "sha256:" + hashlib.sha256(manifest.data).hexdigest()
    assert is_digest(manifest.digest)


@given(st.data(), listings)
def test_any_change_of_an_entry_changes_the_digest(data: st.DataObject, listed: list[Entry]) -> None:
    index = data.draw(st.integers(0, len(listed) - 1))
    other = data.draw(entries)
    field = data.draw(st.sampled_from(["path", "size", "digest"]))
    changed = msgspec.structs.replace(listed[index], **{field: getattr(other, field)})
    assume(changed != listed[index])
    after = [*listed[:index], changed, *listed[index + 1 :]]
    made = reading(lambda: Manifest.of(after))
    if isinstance(made, Reason):
        assert made is Reason.INVALID_MANIFEST  # the change made a conflict
    else:
        assert made.digest != Manifest.of(listed).digest


@given(st.data(), listings)
def test_any_flipped_bit_of_the_bytes_is_refused_or_changes_the_digest(
    data: st.DataObject, listed: list[Entry]
) -> None:
    manifest = Manifest.of(listed)
    flipped = bytearray(manifest.data)
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    other = reading(lambda: Manifest.parse(bytes(flipped)))
    if isinstance(other, Reason):
        assert other is Reason.INVALID_MANIFEST
    else:
        assert other.digest != manifest.digest
        assert other.data == flipped


@given(listings, st.sampled_from([Patterns(), Patterns(allow=("*",)), Patterns(ignore=("\0",))]))
def test_a_filter_that_keeps_the_same_files_keeps_the_digest(listed: list[Entry], patterns: Patterns) -> None:
    assert Manifest.of(listed, patterns).digest == Manifest.of(listed).digest


@given(listings)
def test_a_filter_changes_the_digest_only_through_the_files_it_keeps(listed: list[Entry]) -> None:
    kept = [entry for entry in listed if entry.path.startswith("a")]
    assume(kept)
    assert Manifest.of(listed, Patterns(allow=("a*",))).digest == Manifest.of(kept).digest


@given(st.one_of(hostile_paths, entries.map(lambda entry: entry.path)))
def test_no_accepted_path_escapes_a_root(path: str) -> None:
    if problem_of_path(path):
        with pytest.raises(GsmError) as caught:
            Manifest.of([Entry(path, 1, GIT)])
        assert caught.value.reason is Reason.INVALID_MANIFEST
        return
    root = "/srv/models/root"
    joined = os.path.normpath(os.path.join(root, path))
    assert joined == f"{root}/{path}"
    assert path.encode().decode() == path
    assert path.isprintable() or not any(ord(character) < 0x20 or character == "\x7f" for character in path)


@given(
    st.lists(
        st.builds(
            Entry,
            st.one_of(hostile_paths, entries.map(lambda entry: entry.path)),
            st.one_of(sizes, st.sampled_from([-1, 1 << 63, True, 1.0])),
            st.one_of(
                st.just(SHA),
                st.builds(
                    FileDigest,
                    st.sampled_from([*Algorithm, "md5"]),
                    st.sampled_from(
                        ["", "81" * 32, "4f" * 20, "4F" * 20, "*" * 64, "é" * 64, "g" * 40, "4" * 39, "\n" * 40]
                    ),
                ),
            ),
        ),
        max_size=4,
    )
)
def test_the_check_of_a_whole_listing_says_what_the_check_of_each_entry_says(listed: list[Entry]) -> None:
    each = not any(map(problem_of, listed))
    assert module._all_sound(listed, [entry.path for entry in listed]) is each


BAD_ENTRIES = {
    "climbing": Entry("../x", 1, GIT),
    "climbing in the middle": Entry("a/../../x", 1, GIT),
    "absolute": Entry("/etc/passwd", 1, GIT),
    "empty path": Entry("", 1, GIT),
    "empty segment": Entry("a//b", 1, GIT),
    "trailing slash": Entry("a/", 1, GIT),
    "dot": Entry("./a", 1, GIT),
    "line feed": Entry("a\nsha256:x 1 b", 1, GIT),
    "trailing line feed": Entry("a\n", 1, GIT),
    "carriage return": Entry("a\rb", 1, GIT),
    "escape": Entry("\x1b[2J", 1, GIT),
    "nul": Entry("a\0b", 1, GIT),
    "delete": Entry("a\x7fb", 1, GIT),
    "surrogate": Entry("a\udc80b", 1, GIT),
    "negative size": Entry("a", -1, GIT),
    "size beyond 63 bits": Entry("a", 1 << 63, GIT),
    "size beyond reason": Entry("a", 10**5000, GIT),
    "path beyond reason": Entry("../" * 100_000, 1, GIT),
    "short digest": Entry("a", 1, FileDigest(Algorithm.SHA256, "81" * 20)),
    "long digest": Entry("a", 1, FileDigest(Algorithm.GITSHA1, "4f" * 32)),
    "uppercase digest": Entry("a", 1, FileDigest(Algorithm.GITSHA1, "4F" * 20)),
    "masked digest": Entry("a", 1, FileDigest(Algorithm.SHA256, "*" * 64)),
    "no digest": Entry("a", 1, FileDigest(Algorithm.SHA256, "")),
    "digits of another script": Entry("a", 1, FileDigest(Algorithm.GITSHA1, "٤" * 40)),
}


@pytest.mark.parametrize("bad", BAD_ENTRIES.values(), ids=BAD_ENTRIES.keys())
def test_one_bad_entry_refuses_the_whole(bad: Entry) -> None:
    with pytest.raises(GsmError) as caught:
        Manifest.of([Entry("good", 1, SHA), bad], name="hf://org/repo@main")
    assert caught.value.reason is Reason.INVALID_MANIFEST
    assert caught.value.message.startswith("hf://org/repo@main: ")
    caught.value.message.encode()
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 500


def test_a_bad_entry_refuses_the_whole_even_where_a_filter_would_drop_it() -> None:
    with pytest.raises(GsmError) as caught:
        Manifest.of([Entry("good", 1, SHA), Entry("original/../x", 1, GIT)], Patterns(ignore=("original/",)))
    assert caught.value.reason is Reason.INVALID_MANIFEST


CONFLICTS = {
    "twice": (["a", "b", "a"], "'a' is listed twice"),
    "twice with another size": (["b", "a/c", "a/c"], "'a/c' is listed twice"),
    "file and folder": (["a", "a/b"], "'a' is both a file and a folder"),
    "file and folder apart": (["a/b/c/d", "a-", "a/b"], "'a/b' is both a file and a folder"),
}


@pytest.mark.parametrize(("paths", "message"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_paths_that_no_disk_can_hold_are_refused(paths: list[str], message: str) -> None:
    with pytest.raises(GsmError, match=message) as caught:
        Manifest.of([Entry(path, index, GIT) for index, path in enumerate(paths)])
    assert caught.value.reason is Reason.INVALID_MANIFEST


def test_what_only_looks_like_a_conflict_is_accepted() -> None:
    paths = ["a/b", "a-", "a.b/c", "ab", "b/a", "x" * 255, f"{'y' * 255}/{'z' * 255}", "...", "..a", "a..", " "]
    assert {entry.path for entry in Manifest.of([Entry(path, 1, GIT) for path in paths]).entries} == set(paths)


def test_an_empty_manifest_says_whether_the_patterns_emptied_it() -> None:
    with pytest.raises(GsmError, match="it lists no file") as nothing:
        Manifest.of([])
    with pytest.raises(GsmError, match="the patterns keep no file") as filtered:
        Manifest.of([Entry("a", 1, GIT)], Patterns(allow=("b",)))
    assert nothing.value.reason is filtered.value.reason is Reason.EMPTY_MANIFEST


def test_a_listing_has_at_most_100000_files() -> None:
    many = [Entry(f"{number:06}", 1, GIT) for number in range(MAX_ENTRIES + 1)]
    assert Manifest.of(many[:-1]).file_count == MAX_ENTRIES
    with pytest.raises(GsmError) as caught:
        Manifest.of(iter(many))
    assert caught.value.reason is Reason.MANIFEST_TOO_LARGE
    data = Manifest.of(many[:-1]).data
    with pytest.raises(GsmError) as parsed:
        Manifest.parse(data + b"gitsha1:" + b"4f" * 20 + b" 1 x\n")
    assert parsed.value.reason is Reason.MANIFEST_TOO_LARGE


LINE = b"gitsha1:" + b"4f" * 20 + b" 1 a\n"
HEADER = b"gpustack-manifest v1\n"
UNREADABLE = {
    "nothing": (b"", Reason.INVALID_MANIFEST),
    "another version": (b"gpustack-manifest v2\n" + LINE, Reason.INVALID_MANIFEST),
    "no line feed after the header": (HEADER[:-1], Reason.INVALID_MANIFEST),
    "no line": (HEADER, Reason.EMPTY_MANIFEST),
    "no line feed at the end": (HEADER + LINE[:-1], Reason.INVALID_MANIFEST),
    "blank line": (HEADER + b"\n" + LINE, Reason.INVALID_MANIFEST),
    "blank last line": (HEADER + LINE + b"\n", Reason.INVALID_MANIFEST),
    "carriage return": (HEADER + LINE[:-1] + b"\r\n", Reason.INVALID_MANIFEST),
    "unsorted": (HEADER + LINE.replace(b" a\n", b" b\n") + LINE, Reason.INVALID_MANIFEST),
    "twice": (HEADER + LINE + LINE, Reason.INVALID_MANIFEST),
    "leading zero": (HEADER + LINE.replace(b" 1 ", b" 01 "), Reason.INVALID_MANIFEST),
    "plus sign": (HEADER + LINE.replace(b" 1 ", b" +1 "), Reason.INVALID_MANIFEST),
    "negative": (HEADER + LINE.replace(b" 1 ", b" -1 "), Reason.INVALID_MANIFEST),
    "too big": (HEADER + LINE.replace(b" 1 ", b" 9223372036854775808 "), Reason.INVALID_MANIFEST),
    "far too big": (HEADER + LINE.replace(b" 1 ", b" " + b"9" * 5000 + b" "), Reason.INVALID_MANIFEST),
    "digits of another script": (HEADER + LINE.replace(b" 1 ", " ١ ".encode()), Reason.INVALID_MANIFEST),
    "two spaces": (HEADER + LINE.replace(b" 1 ", b"  1 "), Reason.INVALID_MANIFEST),
    "uppercase": (HEADER + LINE.replace(b"4f", b"4F"), Reason.INVALID_MANIFEST),
    "unknown algorithm": (HEADER + LINE.replace(b"gitsha1", b"gitsha2"), Reason.INVALID_MANIFEST),
    "digest of the other length": (HEADER + LINE.replace(b"gitsha1", b"sha256"), Reason.INVALID_MANIFEST),
    "not UTF-8": (HEADER + LINE.replace(b" a\n", b" \xff\n"), Reason.INVALID_MANIFEST),
    "an encoded surrogate": (HEADER + LINE.replace(b" a\n", b" \xed\xa0\x80\n"), Reason.INVALID_MANIFEST),
    "no path": (HEADER + LINE.replace(b" a\n", b" \n"), Reason.INVALID_MANIFEST),
    "climbing": (HEADER + LINE.replace(b" a\n", b" ../a\n"), Reason.INVALID_MANIFEST),
    "byte order mark": (b"\xef\xbb\xbf" + HEADER + LINE, Reason.INVALID_MANIFEST),
}


@pytest.mark.parametrize(("data", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_bytes_that_are_not_canonical_are_refused(data: bytes, reason: Reason) -> None:
    assert Manifest.parse(HEADER + LINE).file_count == 1
    with pytest.raises(GsmError) as caught:
        Manifest.parse(data)
    assert caught.value.reason is reason


@given(st.binary(max_size=200))
def test_any_bytes_are_read_exactly_or_refused(tail: bytes) -> None:
    manifest = reading(lambda: Manifest.parse(HEADER + tail))
    if isinstance(manifest, Reason):
        assert manifest in (Reason.INVALID_MANIFEST, Reason.EMPTY_MANIFEST)
    else:
        assert manifest.data == HEADER + tail


def test_the_refusal_of_a_line_names_it() -> None:
    with pytest.raises(GsmError, match="line 3 is not"):
        Manifest.parse(HEADER + LINE + b"rubbish\n" + LINE)
    with pytest.raises(GsmError, match="line 3 is not valid UTF-8"):
        Manifest.parse(HEADER + LINE + b"\xff\n")


@given(listings, listings)
def test_a_difference_turns_one_manifest_into_the_other(before: list[Entry], after: list[Entry]) -> None:
    old, new = Manifest.of(before), Manifest.of(after)
    change = difference(old, new)
    assert bool(change) is (old != new)
    files = {entry.path: entry for entry in old.entries}
    for entry in change.removed:
        del files[entry.path]
    for was, entry in change.changed:
        assert files[was.path] == was != entry
        files[entry.path] = entry
    for entry in change.added:
        assert entry.path not in files
        files[entry.path] = entry
    assert files == {entry.path: entry for entry in new.entries}


def test_an_anchor_is_compared_with_both_digests_in_the_message() -> None:
    manifest = Manifest.of([Entry("a", 1, GIT)])
    check_expected("hf://org/repo@main", manifest, None)
    check_expected("hf://org/repo@main", manifest, manifest.digest)
    other = "sha256:" + "0" * 64
    with pytest.raises(GsmError) as caught:
        check_expected("hf://org/repo@main", manifest, other)
    assert caught.value.reason is Reason.DIGEST_MISMATCH
    assert manifest.digest in caught.value.message
    assert other in caught.value.message


@given(st.binary(max_size=64))
def test_a_blob_header_is_gits_own(content: bytes) -> None:
    known = {b"": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}
    named = hashlib.sha1(git_blob_header(len(content)) + content).hexdigest()
    assert named == hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    assert content or named == known[content]


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "a" * 63, "sha256:" + "A" * 64, "sha256:" + "a" * 64 + "\n"]
)
def test_what_is_not_a_digest(text: str) -> None:
    assert not is_digest(text)
