"""``unaligned cluster``: clusters of every row of every file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unaligned.cli._options import BASELINES, EXIT_CODES, file_options, say_loading

if TYPE_CHECKING:
    from unaligned.cli._command import Answer
    from unaligned.cli._inputs import Inputs
    from unaligned.cli._session import Screen

__all__ = ["cluster", "read_n_clusters"]


def read_n_clusters(_: Any, __: Any, value: str) -> int | None:
    """Read a number of clusters; None: choose one."""
    if value.lower() == "auto":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f'{value!r} is neither a number from 1 on nor "auto".')
    return int(value)


@click.command(epilog=EXIT_CODES)
@click.option(
    "--clusters",
    "--k",
    "-k",
    "n_clusters",
    metavar="N|auto",
    default="auto",
    show_default=True,
    callback=read_n_clusters,
    help='Number of clusters; "auto" chooses one without labels.',
)
@click.option(
    "--method",
    metavar="METHOD",
    type=click.Choice(["SAVuC", "PAVuC", *BASELINES], case_sensitive=False),
    default="SAVuC",
    show_default=True,
    help="SAVuC aligns, or says that it cannot; PAVuC is the paper's method; others "
    f"that it compares with are {', '.join(BASELINES)}.",
)
@click.option(
    "--centre/--no-centre",
    default=None,
    help="Whether to subtract the mean of each column first. Default: with PAVuC, "
    "whose model has no intercept.",
)
@file_options
def cluster(
    n_clusters: int | None,
    method: str,
    centre: bool | None,
    effort: str | None,
    seed: int,
    **options: Any,
) -> None:
    """Cluster every row of every file, whether or not rows correspond.

    FILES are one view or several: CSV, TSV, Parquet, .npy, .npz, MATLAB, AnnData
    (.h5ad) or MuData (.h5mu). With SAVuC they need not have equally many rows.
    """
    say_loading(quiet=options["quiet"])
    # Here, so that --help is quick.
    from unaligned.cli._command import Answer, answer
    from unaligned.estimators import estimator_named
    from unaligned.selection import select_n_clusters

    settings: dict[str, Any] = {}
    if method == "SAVuC":
        settings["effort"] = effort or "normal"
    elif effort is not None:
        raise click.UsageError(f"--effort belongs to SAVuC; {method} does not search.")
    if centre is None:
        centre = method == "PAVuC"

    def find(inputs: "Inputs", screen: "Screen") -> "Answer":
        files: dict[str, Any] = {}
        Xs, k, evidence = inputs.Xs, n_clusters, None
        if k is None:
            screen.stage("Choosing the number of clusters")
            evidence = select_n_clusters(Xs, random_state=seed, verbose=1)
            k = evidence.n_clusters
            screen.remarks.append(f"{evidence.sentence()} Set another with -k.")
        if centre:
            Xs, means = _centred(Xs)
            files["column_means.npz"] = partial(_save_arrays, means)
        screen.stage(f"Fitting {method}")
        model = estimator_named(method)(k, random_state=seed, verbose=1, **settings)
        model.fit(Xs, aligned=inputs.data.aligned)
        model.set_params(verbose=0)
        model.clusters_evidence_ = evidence  # for the model and the report
        if not model.converged_:
            screen.remarks.append(
                f"{method} stopped after {model.n_iter_} iterations without "
                "converging; in Python, max_iter lets it go on."
            )
        files["clusters.model"] = model.save
        told: dict[str, Any] = {
            "n_clusters": k,
            "n_clusters_chosen": n_clusters is None,
            "seed": seed,
        }
        if evidence is not None:
            told["n_clusters_interval"] = list(evidence.interval)
            told["n_clusters_alternatives"] = list(evidence.alternatives)
            told["n_clusters_flat"] = evidence.flat
        told |= {"centred": centre, "converged": bool(model.converged_)}
        return Answer(model, settings | told, files)

    answer("cluster", find, **options)


def _centred(Xs: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Subtract the means of the columns from the views; also return the means."""
    import numpy as np
    from scipy import sparse

    for name, X in Xs.items():
        if sparse.issparse(X):
            raise click.ClickException(
                f"View {name!r} is sparse and would be dense when centred; add "
                "--no-centre, or use SAVuC, which needs no centring."
            )
    means = [np.mean(X, axis=0, dtype=np.float64) for X in Xs.values()]
    centred = {
        name: np.asarray(X - mean, dtype=np.result_type(X, np.float32))
        for (name, X), mean in zip(Xs.items(), means, strict=True)
    }
    return centred, means


def _save_arrays(arrays: list[Any], path: Path) -> None:
    import numpy as np

    np.savez(path, **{f"view{i}": array for i, array in enumerate(arrays)})
