"""Owns the process entry point `gsm`: the one boundary where an interrupt becomes an exit status.

Refuses everything else; the command line is composed in `gpustack_models.cli`.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit."""
    from gpustack_models.cli.app import run

    raise SystemExit(run())


if __name__ == "__main__":
    main()
