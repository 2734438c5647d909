"""Owns the bed's command line, for ``make`` and for a person: up, down, status, build, deps, lacks, sweep, prune.

Refuses to mix: stdout has what a shell evaluates, stderr what a person reads.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from . import cleaning, hub, machine
from .bed import OWN, Bed, Options
from .cache import Cache, say
from .errors import BedError
from .layout import home


def up(given: argparse.Namespace) -> None:
    """Start a bed (or find it running) and print the lines that point a shell at it."""
    nodes = given.nodes if given.nodes is not None else int(os.geteuid() == 0)
    _need("node" if nodes else "cluster")
    bed = _bed(given, Options(nodes=nodes, hub=True, repositories=given.hub))
    if bed.running() and bed.card.nodes != nodes:
        raise BedError(f"a bed with {bed.card.nodes} nodes is up", f"`{_ending(given.name)}` first")
    bed.up()
    if given.hub is None:
        hub.seed(bed.hub_dir)
    for what, seconds in bed.timings.items():
        say(f"{what}: {seconds:.1f} s")
    print(f"export KUBECONFIG={bed.kubeconfig('admin')}")
    if bed.supervisor.identity(hub.NAME):
        for name, value in hub.environment(bed.hub_url).items():
            print(f"export {name}={value}")
    say(f"{nodes} nodes; logs in {bed.layout.log}; `{_ending(given.name)}` ends it")


def down(given: argparse.Namespace) -> None:
    """Remove a bed."""
    _bed(given, Options()).down()


def status(given: argparse.Namespace) -> None:
    """List the bed's processes."""
    bed = _bed(given, Options())
    for name in bed.supervisor.names():
        print(f"{name}\t{'running' if bed.supervisor.running(name) else 'ended'}\t{bed.supervisor.log(name)}")


def build(given: argparse.Namespace) -> None:
    """Build binaries (by name, or all of a tier) and print where they lie."""
    names = [*given.names, *(machine.binaries(given.tier) if given.tier else ())]
    for name, path in Cache(os.environ).ensure(*names).items():
        print(f"{name}\t{path}")


def lacks(given: argparse.Namespace) -> None:
    """Say in one line what the machine lacks for a tier; exit status 1 when it lacks anything."""
    _need(given.tier)


def deps(given: argparse.Namespace) -> None:
    """Install the Debian packages that the node tier needs and the machine lacks."""
    missing = machine.look(os.environ, "node", Cache(os.environ)).packages
    if not missing:
        say("nothing to install")
        return
    if os.geteuid() != 0:
        raise BedError("installing needs root", "apt-get install -y --no-install-recommends " + " ".join(missing))
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *missing]):
        if subprocess.run(["apt-get", *command], env=quiet, stdout=sys.stderr).returncode:
            raise BedError(f"`apt-get {' '.join(command)}` failed")


def sweep(given: argparse.Namespace) -> None:
    """Remove the beds that killed test sessions left."""
    for folder in cleaning.sweep(home(os.environ), OWN):
        say(f"removed {folder}")


def prune(given: argparse.Namespace) -> None:
    """Remove binaries of versions that no go.mod names any longer."""
    for folder in Cache(os.environ).prune():
        say(f"removed {folder}")


def _bed(given: argparse.Namespace, options: Options) -> Bed:
    return Bed(home(os.environ) / given.name, options)


def _ending(name: str) -> str:
    return "make cluster-down" if name == "default" else f"make cluster-down BED={name}"


def _need(tier: str) -> None:
    lacking = machine.lacks(tier, machine.look(os.environ, tier, Cache(os.environ)))
    if lacking:
        raise BedError(lacking)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bed", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        made = commands.add_parser(run.__name__, help=run.__doc__)
        made.set_defaults(run=run)
        return made

    for run in (up, down, status):
        command(run).add_argument("--name", default="default", help="the bed's name; several may be up")
    commands.choices["up"].add_argument("--nodes", type=int, help="kubelets to start (default: 1 as root, else 0)")
    commands.choices["up"].add_argument("--hub", type=Path, help="a folder of repositories to serve beside it")
    made = command(build)
    made.add_argument("names", nargs="*", metavar="NAME")
    made.add_argument("--tier", choices=["cluster", "node"])
    command(lacks).add_argument("tier", choices=["cluster", "node"])
    for run in (deps, sweep, prune):
        command(run)
    return parser


def main() -> int:
    """Run one command; an error is one line on stderr and exit status 1."""
    given = _parser().parse_args()
    try:
        given.run(given)
    except BedError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
