"""The command line: one file per command of ``unaligned``."""

import sys
from importlib import import_module
from typing import Any

import click

from unaligned._version import __version__
from unaligned.cli._memory import complain_of_no_start, memory_complaint

__all__ = ["COMMANDS", "main"]

# The first line of the help of each command. A command is imported when it is called,
# because scikit-learn alone takes a second.
COMMANDS = {
    "align": "Find which row of one file belongs to which row of another.",
    "audit": "Find out how many rows of a released table can be found again.",
    "bench": "Run the paper's evaluation and write a page of results.",
    "cluster": "Cluster every row of every file, whether or not rows correspond.",
    "compare": "Compare all methods that can run on two files, without labels.",
    "datasets": "Show and fetch the datasets of the paper, and list your own.",
    "demo": "Shuffle four views of the digits, cluster them, and check the result.",
    "translate": "Look up vectors of one embedding space in another.",
}


class Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"unaligned.cli.{cmd_name}"), cmd_name)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run on any terminal: characters that it does not have become "?"."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        return super().main(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its imports may run out of memory."""
        try:
            complain_of_no_start()
            return super().invoke(ctx)
        except (ImportError, MemoryError, OSError) as error:
            if (short := memory_complaint(error)) is None:
                raise
            raise click.ClickException(short) from None
        except KeyboardInterrupt:  # while modules are imported, before a session hears
            click.echo("Stopped.", err=True)
            raise SystemExit(130) from None

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List the commands and what they do, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="unaligned")
def main() -> None:
    """Cluster and align views whose rows do not correspond."""
