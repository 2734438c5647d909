"""Owns the law of the command table: naming a command imports nothing, running it imports it alone."""

from __future__ import annotations

import sys
import types

import pytest

from gpustack_models.cli import lazy


def _module(name: str, said: list[str]) -> str:
    module = types.ModuleType(name)
    app = lazy.single()

    @app.command(epilog=lazy.examples(f"gsm {name} --all [x]"))
    def run(word: str) -> int:
        """Say a word."""
        said.append(f"{name} {word}")
        return 7

    module.app = app  # type: ignore[attr-defined]
    sys.modules[name] = module
    return name


@pytest.fixture
def said() -> list[str]:
    return []


def test_a_listing_imports_no_command(said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = (lazy.Row("one", "no.such.module", "The first [extra].", "gsm one hf://a/b"),)
    assert lazy.group(rows)(args=["--help"], standalone_mode=False) == 0
    shown = capsys.readouterr().out
    assert "The first [extra]." in shown
    assert "gsm one hf://a/b" in shown


def test_running_a_command_imports_it_alone(said: list[str]) -> None:
    rows = (
        lazy.Row("one", _module("lazy_test_one", said), "One.", "gsm one x"),
        lazy.Row("two", "no.such.module", "Two.", "gsm two x"),
    )
    assert lazy.group(rows)(args=["one", "hello"], standalone_mode=False) == 7
    assert said == ["lazy_test_one hello"]


def test_a_group_may_hold_a_group(said: list[str]) -> None:
    outer = types.ModuleType("lazy_test_outer")
    outer.app = lazy.group(  # type: ignore[attr-defined]
        (lazy.Row("in", _module("lazy_test_inner", said), "In.", "gsm out in x"),), help="Outer."
    )
    sys.modules["lazy_test_outer"] = outer
    app = lazy.group((lazy.Row("out", "lazy_test_outer", "Out.", "gsm out in x"),))
    assert app(args=["out", "in", "deep"], standalone_mode=False) == 7
    assert said == ["lazy_test_inner deep"]


def test_a_mistyped_command_names_the_nearest(said: list[str]) -> None:
    app = lazy.group((lazy.Row("resolve", "no.such.module", "R.", "gsm resolve x"),))
    with pytest.raises(Exception, match="Did you mean 'resolve'"):
        app(args=["resolv"], standalone_mode=False)


def test_a_command_s_help_ends_with_its_examples(said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    app = lazy.group((lazy.Row("one", _module("lazy_test_help", said), "One.", "gsm one"),))
    assert app(args=["one", "--help"], standalone_mode=False) == 0
    shown = capsys.readouterr().out
    assert "Say a word." in shown
    assert "gsm lazy_test_help --all [x]" in shown
