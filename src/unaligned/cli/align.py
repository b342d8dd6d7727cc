"""``unaligned align``: pairs of rows, from files."""

from typing import TYPE_CHECKING, Any

import click

from unaligned.cli._options import EXIT_CODES, file_options, say_loading

if TYPE_CHECKING:
    from unaligned.cli._command import Answer
    from unaligned.cli._inputs import Inputs
    from unaligned.cli._session import Screen

__all__ = ["align"]


@click.command(epilog=EXIT_CODES)
@file_options
def align(effort: str | None, seed: int, **options: Any) -> None:
    """Find which row of one file belongs to which row of another.

    FILES are two or more views: CSV, TSV, Parquet, .npy, .npz, MATLAB, AnnData
    (.h5ad) or MuData (.h5mu). They need not have equally many rows, and no pair need
    be known. Views that cannot be trusted to be aligned are refused.
    """
    say_loading(quiet=options["quiet"])
    # Here, so that --help is quick.
    from unaligned.cli._command import Answer, answer
    from unaligned.savuc import align as align_views

    effort = effort or "normal"

    def find(inputs: "Inputs", screen: "Screen") -> "Answer":
        if len(inputs.data.Xs) < 2:
            raise click.ClickException(
                "There is one view only, and so nothing to align; name another file."
            )
        screen.stage("Searching for the correspondence")
        found = align_views(
            inputs.Xs,
            aligned=inputs.data.aligned,
            effort=effort,
            random_state=seed,
            verbose=1,
        )
        return Answer(found, {"effort": effort, "seed": seed})

    answer("align", find, **options)
