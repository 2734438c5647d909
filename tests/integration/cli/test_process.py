"""Owns how the command line behaves as a process: signals, pipes, terminals, help, completion, its imports."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpustack_models import __version__
from gpustack_models.cli.app import COMMANDS
from gpustack_models.hub_server import LocalHub
from tests.integration.cli.conftest import COMMAND, Gsm
from tests.integration.conftest import HubFactory, Publish, write_tree

FILES = {"config.json": "{}", ".gitattributes": "*.bin filter=lfs\n"}


@contextmanager
def started(environment: dict[str, str], *arguments: object, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [*COMMAND, *(str(argument) for argument in arguments)]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def asked(hub: LocalHub, *names: str) -> None:
    """Wait until a hub that stays silent was asked for each of these: so they were asked for at once."""
    until = time.monotonic() + 30
    while not all(any(name in request.path for request in hub.requests) for name in names):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupt", "terminate"]
)
def test_a_signal_ends_it_at_once_while_a_hub_is_silent(
    sent: signal.Signals, status: int, local_hub: HubFactory, publish: Publish, environment: dict[str, str]
) -> None:
    publish("team/m", FILES)
    hub = local_hub()
    hub.fault("silence", "*")
    with started({**environment, "HF_ENDPOINT": hub.url}, "resolve", "team/m", "team/n") as process:
        asked(hub, "team/m", "team/n")
        begin = time.monotonic()
        process.send_signal(sent)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - begin < 10
    assert (process.returncode, out) == (status, b"")
    assert b"Traceback" not in err


def test_an_interrupt_while_hashing(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = write_tree(tmp_path / "m", FILES)
    with (folder / "model.bin").open("wb") as file:
        file.truncate(64 << 30)  # a hole: it takes minutes to hash, and no room
    with started(environment, "digest", folder) as process:
        until = time.monotonic() + 30
        while b"model.bin" not in _open_files(process.pid):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def _open_files(pid: int) -> bytes:
    handles = Path(f"/proc/{pid}/fd")
    return b" ".join(os.fsencode(os.readlink(handle)) for handle in handles.iterdir() if handle.is_symlink())


@pytest.mark.parametrize("arguments", [("resolve", "team/m", "--files"), ("--help",), ("resolve", "--help")], ids=str)
def test_a_reader_that_went_away_is_no_news(
    arguments: tuple[str, ...], local_hub: HubFactory, publish: Publish, environment: dict[str, str]
) -> None:
    publish("team/m", {f"{number:05}": "x" for number in range(3000)})
    hub = local_hub()
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, *arguments],
        env={**environment, "HF_ENDPOINT": hub.url},
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode in (1, 141)


def on_a_terminal(environment: dict[str, str], *arguments: object) -> tuple[str, str]:
    """Standard output, and what a terminal on standard error got."""
    shown, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *(str(argument) for argument in arguments)],
        env={**environment, "TERM": "xterm-256color", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    talk = b""
    while True:
        ready, _, _ = select.select([shown], [], [], 60)
        assert ready
        try:
            chunk = os.read(shown, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        talk += chunk
    os.close(shown)
    out = process.communicate(timeout=60)[0].decode()
    return out, talk.decode()


def test_a_bar_on_a_terminal_and_nothing_in_a_pipe(gsm: Gsm, environment: dict[str, str], tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "m", FILES)
    with (folder / "model.bin").open("wb") as file:
        file.truncate(96 << 20)
    out, talk = on_a_terminal(environment, "digest", folder)
    assert out == gsm("digest", folder).out
    assert "hashing" in talk
    assert re.search(r"\d+\.\d [KMG]iB/s", talk)
    assert re.search(r"\d:\d\d:\d\d", talk)
    piped = gsm("digest", folder)
    assert "hashing" not in piped.err
    assert "\x1b" not in piped.err
    assert "hashing" not in on_a_terminal(environment, "digest", folder, "--quiet")[1]


def test_no_color(environment: dict[str, str], tmp_path: Path) -> None:
    coloured = on_a_terminal(environment, "digest", tmp_path / "none")[1]
    plain = on_a_terminal({**environment, "NO_COLOR": "1"}, "digest", tmp_path / "none")[1]
    assert "\x1b[31m" in coloured
    assert "\x1b" not in plain
    assert plain.startswith("error: ")


@pytest.mark.parametrize("closed", ["1", "2"], ids=["stdout", "stderr"])
def test_a_closed_stream_changes_no_status(closed: str, environment: dict[str, str], tmp_path: Path) -> None:
    command = f"{' '.join(COMMAND)} digest {tmp_path / 'none'} {closed}>&-"
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 30
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_an_error_of_its_own(environment: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "--version"], env=environment, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (
        34,
        b"error: standard output cannot be written: No space left on device\n",
    )


STREAMS = {
    "a full disk under an error": ("digest {tmp}/none 2>/dev/full", 30),
    "a full disk under usage": ("nonsense 2>/dev/full", 2),
    "a full disk under notes": ("digest {tmp} --sha256 2>/dev/full", 0),
    "a progress with nowhere to go": ("digest {tmp} --sha256 2>&-", 0),
    "resolve without standard input": ("resolve -f - <&-", 2),
    "verify without standard input": ("verify -f - <&-", 2),
    "validate without standard input": ("validate -f - <&-", 2),
}


@pytest.mark.parametrize(("command", "status"), STREAMS.values(), ids=STREAMS.keys())
def test_no_stream_changes_what_an_exit_status_means(
    command: str, status: int, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "model.bin").write_bytes(b"x")
    line = f"{' '.join(COMMAND)} {command.format(tmp=tmp_path)}"
    done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, check=False)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


# A person's Ctrl-C in the moment in which the command line is imported.
INTERRUPTED = """
import signal, sys
class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from gpustack_models.__main__ import main
main()
"""


def test_an_interrupt_while_it_starts(environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize(
    "arguments",
    [("digest", "~nobody-of-that-name/x"), ("node-store", "ls", "--root", "~nobody-of-that-name/x")],
    ids=["digest", "root"],
)
def test_a_home_that_nobody_has(arguments: tuple[str, ...], gsm: Gsm) -> None:
    ran = gsm(*arguments)
    assert (ran.status, "not known" in ran.err) == (2, True)


# What a container runs as that was given a number for a user.
UNKNOWN = """
import os, pathlib
from gpustack_models.cli.home import home
os.environ.pop("HOME", None)
if not os.getuid():
    os.setuid(987654321)
    assert home() == pathlib.Path("/")
else:
    assert home() == pathlib.Path.home()
"""


def test_a_user_whom_the_system_does_not_know_has_the_root_for_a_home(environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", UNKNOWN], env=environment, check=True)


def test_version(gsm: Gsm) -> None:
    ran = gsm("--version")
    assert (ran.status, ran.out, ran.err) == (0, f"gsm {__version__}\n", "")


def test_help_shows_an_example_of_every_command(gsm: Gsm) -> None:
    ran = gsm("--help")
    assert ran.status == 0
    for row in COMMANDS:
        assert row.example in ran.out
        assert f"\n  {row.name} " in ran.out
    nothing = gsm()
    assert (nothing.status, nothing.out) == (2, "")
    assert "Commands:" in nothing.err


@pytest.mark.parametrize("name", [row.name for row in COMMANDS])
def test_every_command_s_help_ends_with_examples(name: str, gsm: Gsm) -> None:
    ran = gsm(name, "--help")
    assert ran.status == 0
    assert f"\n    gsm {name} " in ran.out.partition("Examples:")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, gsm: Gsm, environment: dict[str, str]) -> None:
    names = sorted(row.name for row in COMMANDS if row.name.startswith("re"))
    words = {
        "COMP_WORDS": "gsm re",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "gsm re",
        "_GSM_COMPLETE": f"complete_{shell}",
    }
    done = gsm(env={**words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"})
    assert done.status == 0
    for name in names:
        assert name in done.out
    typed = "gsm resolve --wr"
    words |= {"COMP_WORDS": typed, "COMP_CWORD": "2", "_TYPER_COMPLETE_ARGS": typed}
    options = gsm(env={**words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"})
    assert "--write" in options.out


def test_completion_is_installed(environment: dict[str, str], home: Path) -> None:
    # The shell is found by looking at the parent process, so a shell it must be.
    command = f"{' '.join(COMMAND)} --install-completion; true"
    bash = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert "bash completion installed" in bash.stdout, bash.stderr
    assert "_GSM_COMPLETE=complete_bash" in (home / ".bash_completions" / "gsm.sh").read_text()


def test_help_and_names_load_no_library_of_a_hub() -> None:
    heavy = (
        "httpcore",
        "httpx",
        "huggingface_hub",
        "modelscope",
        "pydantic",
        "rich",
        "oras",
        "kubernetes",
        "starlette",
    )
    script = (
        "import sys, io\n"
        "from gpustack_models.cli.app import run\n"
        "sys.stdout = io.TextIOWrapper(io.BytesIO())\n"
        "for words in (['--help'], ['--version'], ['resolve', '--help'], ['verify', '--help'], ['digest', '--help']):\n"
        "    assert run(words) == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
