"""Owns the process entry point `gsm`: the one boundary where an interrupt becomes an exit status.

Refuses everything else; the command line is composed in `gpustack_models.cli`.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit."""
    try:
        # Importing it takes a moment, in which a person may have thought better of it.
        from gpustack_models.cli.app import run

        status = run()
    except KeyboardInterrupt:
        status = 130  # what errors.py calls INTERRUPTED_EXIT_STATUS: nothing is imported any more
    raise SystemExit(status)


if __name__ == "__main__":
    main()
