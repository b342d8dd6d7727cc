"""The command line: one file per command of ``unaligned``."""

import click

from unaligned._version import __version__
from unaligned.cli.align import align
from unaligned.cli.bench import bench
from unaligned.cli.cluster import cluster
from unaligned.cli.compare import compare
from unaligned.cli.datasets import datasets
from unaligned.cli.demo import demo

__all__ = ["main"]


@click.group()
@click.version_option(__version__, prog_name="unaligned")
def main() -> None:
    """Cluster and align views whose rows do not correspond."""


main.add_command(align)
main.add_command(bench)
main.add_command(cluster)
main.add_command(compare)
main.add_command(datasets)
main.add_command(demo)
