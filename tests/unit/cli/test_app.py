"""Owns the boundary: whatever a command raises becomes one line, a hint and a status."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import pytest

from gpustack_models.cli import app, lazy
from gpustack_models.errors import GsmError, Reason


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Run a command that raises."""

    def run(error: BaseException) -> int:
        module = types.ModuleType("app_test_failing")
        command = lazy.single()

        @command.command()
        def fail() -> None:
            raise error

        module.app = command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(app, "COMMANDS", (lazy.Row("fail", module.__name__, "Fail.", "gsm fail"),))
        return app.run(["fail"])

    return run


RAISED = {
    "an-error": (GsmError(Reason.ACCESS_DENIED, "x", hint="y"), 11, "error: x\nhint: y\n"),
    "an-error-without-a-hint": (GsmError(Reason.STORE_LOCKED, "x"), 32, "error: x\n"),
    "ctrl-c": (KeyboardInterrupt(), 130, ""),
    "an-exit": (SystemExit(7), 7, ""),
    "a-file-that-is-not-there": (FileNotFoundError(2, "No such file or directory", "a"), 30,
                                 "error: a: No such file or directory\n"),
    "a-full-disk": (OSError(28, "No space left on device"), 34, "error: No space left on device\n"),
}  # fmt: skip


@pytest.mark.parametrize(("error", "status", "told"), RAISED.values(), ids=RAISED.keys())
def test_what_is_raised(
    error: BaseException,
    status: int,
    told: str,
    failing: Callable[[BaseException], int],
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert failing(error) == status
    assert capfd.readouterr() == ("", told)


def test_a_defect_is_a_line_and_a_traceback_on_request(
    failing: Callable[[BaseException], int], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GSM_DEBUG", raising=False)
    assert failing(ZeroDivisionError("oops")) == app.DEFECT_EXIT_STATUS
    told = capfd.readouterr().err
    assert told.startswith("error: ZeroDivisionError: oops\nhint: this is a defect of gsm; please report it")
    assert "Traceback" not in told
    monkeypatch.setenv("GSM_DEBUG", "1")
    assert failing(ZeroDivisionError("oops")) == app.DEFECT_EXIT_STATUS
    assert "Traceback (most recent call last)" in capfd.readouterr().err
