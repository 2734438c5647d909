"""Owns the files that are made from the models and the table of rules: the CRDs and the reference.

Refuses to leave one behind that nothing makes. `make generated` writes them; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from gpustack_models.cli.yamltext import dump
from gpustack_models.core import crd, reference
from gpustack_models.core.kinds import RESOURCES

ROOT = Path(__file__).parent.parent
FOLDERS = ("deploy/crds", "docs/reference")


def files() -> dict[str, str]:
    """Every generated file: its path below the checkout, and its text."""
    crds = {f"deploy/crds/{each.KIND.crd_name}.yaml": dump(crd.of(each)) for each in RESOURCES}
    pages = {f"docs/reference/{each.KIND.singular}.md": reference.page(each) for each in RESOURCES}
    return {**crds, **pages, "docs/reference/rules.md": reference.rules_page()}


def committed() -> dict[str, str]:
    """What stands in the folders of generated files."""
    found = (path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*")))
    return {str(path.relative_to(ROOT)): path.read_text() for path in found}


def main() -> None:
    for name in committed().keys() - files().keys():
        (ROOT / name).unlink()
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
