"""Owns starting, stopping, freezing and thawing the bed's own processes.

Refuses to signal anything but the very process that a record names.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import BedError
from .processes import MARK, Identity, alive, boot_id, observe, parse_record

# The record is there before the program is: the shell writes it of itself and becomes the program. So a bed
# killed at any instruction knows all that it started.
_RECORD_THEN_BECOME = """
read -r boot < /proc/sys/kernel/random/boot_id && read -r stat < /proc/$$/stat || exit 1
printf '%s\\n%s\\n' "$boot" "$stat" > "$0.new" && mv -f "$0.new" "$0" || exit 1
exec "$@"
"""

_TICK = 0.02


@dataclass(frozen=True)
class Command:
    """What to run: its name in the bed, its arguments, what it adds to the environment."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]


class Supervisor:
    """Starts and stops processes by name for one bed; ``run`` holds records, ``log`` their output."""

    def __init__(self, run: Path, log: Path, mark: str) -> None:
        self._run = run
        self._log = log
        self._mark = mark

    def start(self, command: Command) -> Identity:
        """Start a process in a session of its own; its output is appended to its log."""
        if self.running(command.name):
            raise BedError(f"{command.name} is already running")
        record = self._run / command.name
        record.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        log = str(self.log(command.name))
        pid = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", _RECORD_THEN_BECOME, str(record), *command.argv],
            {**command.env, MARK: self._mark},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, flags, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        wait_until(lambda: record.exists() or not _exists(pid), 30, f"{command.name} to be recorded")
        identity = self.identity(command.name)
        if identity is None:
            raise BedError(f"{command.name} could not be started", self.tail(command.name))
        return identity

    def identity(self, name: str) -> Identity | None:
        """The recorded process of that name, whether it still runs or not."""
        try:
            return parse_record((self._run / name).read_text())
        except OSError:
            return None

    def names(self) -> list[str]:
        """Names of all that was started."""
        return sorted(path.name for path in self._run.iterdir() if path.suffix != ".new")

    def running(self, name: str) -> bool:
        """Whether the process of that name runs (a frozen one does)."""
        identity = self.identity(name)
        if identity is None:
            return False
        reap(identity.pid)
        return alive(identity)

    def send(self, name: str, number: signal.Signals) -> None:
        """Signal a running process of that name; BedError when there is none."""
        identity = self.identity(name)
        if identity is None or not self.running(name):
            raise BedError(f"{name} is not running")
        signal_identity(identity, number)

    def stop(self, name: str, patience: float = 10) -> None:
        """Ask the process to end, insist after ``patience`` seconds; one that has ended is fine."""
        identity = self.identity(name)
        if identity is not None:
            end([identity], patience)

    def log(self, name: str) -> Path:
        """Where the output of that name goes."""
        return self._log / f"{name}.log"

    def tail(self, name: str, lines: int = 20) -> str:
        """The last lines of a log; empty when there is none."""
        try:
            return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


def end(identities: Sequence[Identity], patience: float) -> None:
    """End processes together: ask all, wait for all, insist on the rest. Frozen ones are thawed to hear it."""
    for identity in identities:
        signal_identity(identity, signal.SIGTERM)
        signal_identity(identity, signal.SIGCONT)
    deadline = time.monotonic() + patience
    left = _still(identities)
    while left and time.monotonic() < deadline:
        time.sleep(_TICK)
        left = _still(left)
    kill(left)


def kill(identities: Sequence[Identity], patience: float = 20) -> None:
    """Kill processes and wait until they are gone; BedError names those that the kernel keeps."""
    for identity in identities:
        signal_identity(identity, signal.SIGKILL)
    wait_until(lambda: not _still(identities), patience, f"processes {[i.pid for i in identities]} to die")


def signal_identity(identity: Identity, number: signal.Signals) -> None:
    """Signal exactly that process: the handle is opened first and checked, so an id that comes round is never hit."""
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        row = observe(identity.pid, boot_id())
        if row is not None and row.identity == identity:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def reap(pid: int) -> None:
    """Read the status of a child of ours that ended, so that no zombie stays; another's child is left alone."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def wait_until(done: Callable[[], bool], seconds: float, what: str, tick: float = _TICK) -> None:
    """Wait for a condition; BedError says what did not come."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise BedError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(tick)


def _still(identities: Sequence[Identity]) -> list[Identity]:
    for identity in identities:
        reap(identity.pid)
    return [identity for identity in identities if alive(identity)]


def _exists(pid: int) -> bool:
    reap(pid)
    return (Path("/proc") / str(pid)).exists()
