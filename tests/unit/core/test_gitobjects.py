"""Owns git's ids, against values that git itself printed."""

from gpustack_models.core.gitobjects import Signature, blob_id, commit_id, lfs_pointer, tag_id, tree_ids

WHO = Signature("A", "a@b", 1700000000)


def test_a_blob() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_a_pointer_is_a_blob_like_any_other() -> None:
    pointer = lfs_pointer("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90868376)
    assert len(pointer) == 133
    assert blob_id(pointer) == "d49eff1e4a6f0e3ba5069f21c6d20aad156dd2c9"


def test_trees_are_sorted_as_git_sorts_them() -> None:
    # `d.x/` sorts before `d/` would, and a folder sorts as if its name ended in a slash.
    files = {"a/b/c": b"hi\n", "a.txt": b"x\n", "a/z": b"z\n", "d.x/q": b"q\n", "d": b"r\n"}
    ids = tree_ids({path: blob_id(content) for path, content in files.items()})
    assert ids[""] == "3ae9db54f26faef8debc0c07d70a935aeb43753e"
    assert ids["a"] == "3318d54f2e1905643fdf46a2413df0f4f18e3be8"
    assert set(ids) == {"", "a", "a/b", "d.x"}


def test_an_empty_tree() -> None:
    assert tree_ids({}) == {"": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}


def test_a_commit_its_child_and_an_annotated_tag() -> None:
    tree = "3ae9db54f26faef8debc0c07d70a935aeb43753e"
    commit = commit_id(tree, WHO, "m")
    assert commit == "6459e5c43814ce337b2124b123adfefad8d0637a"
    assert commit_id(tree, WHO, "n", [commit]) == "e31b203dc938a49ef13a1c9394575b37f3b4ae97"
    assert tag_id("v1", commit, WHO, "t") == "a2dc4f181c51613776d1b32fa39364eaee1863e3"
