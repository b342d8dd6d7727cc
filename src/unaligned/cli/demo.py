"""``unaligned demo``: alignment and clusters of shipped data."""

import click

__all__ = ["demo"]


@click.command()
@click.option("--seed", default=0, show_default=True, help="Seed of shuffle and fits.")
def demo(seed: int) -> None:
    """Shuffle four views of the digits, cluster them, and check the result."""
    from unaligned.cli._demo import run_demo  # here, so that --help is quick

    run_demo(seed)
