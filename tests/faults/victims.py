"""Runs that are made to be killed, and what kills them.

Victims are processes of their own, forked from a server that has imported everything,
so that moments are drawn from the run and not from the import of libraries.
"""

import multiprocessing
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

import numpy as np

from tests.conftest import make_blobs
from unaligned import PAVuC, checkpoints


def forkserver():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["unaligned.benchmark.preload", "unaligned.cli", "unaligned.report.page"]
    )
    return context


def start(function, *arguments):
    process = forkserver().Process(target=function, args=arguments)
    process.start()
    return process


def kill_after(process, seconds):
    """Kill a process for good; tell whether it was still at work."""
    process.join(seconds)
    at_work = process.exitcode is None
    process.kill()
    process.join()
    if not at_work:
        assert process.exitcode == 0
    process.close()
    return at_work


def duration(function, *arguments):
    """Seconds that an undisturbed run takes."""
    start(int).join()  # by now the server is there
    begin = time.monotonic()
    process = start(function, *arguments)
    process.join()
    assert process.exitcode == 0
    process.close()
    return time.monotonic() - begin


# --- A fit -------------------------------------------------------------------------


def views():
    Xs, _ = make_blobs(n=600, k=4, widths=(30, 20), spread=1.0)
    rng = np.random.RandomState(1)
    return [Xs[0], Xs[1][rng.permutation(600)]]


def model(checkpoint=None, **parameters):
    settings = {"max_iter": 40, "tol": 0, "n_init": 2, "random_state": 0}
    return PAVuC(4, checkpoint=checkpoint, **settings | parameters)


def fit(folder):
    """Fit with a checkpoint after every iteration, and write down how it goes."""
    sys.stdout = open(folder / "log", "a")  # noqa: SIM115  open until it is killed
    checkpoints.SHARE_FOR_WRITING = np.inf
    fitted = model(folder / "fit.checkpoint", verbose=1).fit(views())
    fitted.set_params(checkpoint=None, verbose=0).save(folder / "fit.model")


def save_slowly(folder):
    """Save a model, and pause half-way until somebody says to go on."""

    def write_half(self, *parts, write=zipfile.ZipFile.writestr):
        while not (folder / "go on").exists():
            time.sleep(0.01)
        write(self, *parts)

    zipfile.ZipFile.writestr = write_half
    PAVuC(7).save(folder / "a.model")


# --- Commands ----------------------------------------------------------------------


def command(arguments, folder):
    """Run ``unaligned`` with some arguments."""
    from unaligned.cli import main

    sys.stdout = sys.stderr = open(folder / "log", "a")  # noqa: SIM115
    main(list(map(str, arguments)))


def bench(folder):
    arguments = ["--quick", "--rows", 60, "--methods", "random labels"]
    arguments += ["--shuffles", 4, "--jobs", 1, "--no-page"]
    arguments += ["--output", folder / "bench"]
    command(["bench", "table4", *arguments], folder)


def cluster(folder):
    files = [folder / "a.npy", folder / "b.npy"]
    arguments = ["--method", "PAVuC", "-k", 4, "--no-report", "--force"]
    command(["cluster", *files, *arguments, "-o", folder / "out"], folder)


def move_results(output, moves):
    """Replace results in a folder, and die before a move: kill -9 at its worst."""
    from unaligned.cli import _outputs

    def counted(*paths, replace=os.replace):
        nonlocal moves
        if moves == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        moves -= 1
        replace(*paths)

    os.replace = counted
    _outputs.check_output(output, force=True)
    with _outputs.whole_folder(output) as folder:
        for name in ("new.csv", "both.csv"):
            (folder / name).write_text("new")
        _outputs.write_summary(folder, "align", {}, [], time.monotonic())


def write_views(folder: Path):
    for name, X in zip("ab", views(), strict=True):
        np.save(folder / f"{name}.npy", X)


# --- Little memory -----------------------------------------------------------------


def fit_with_little(name, shapes, megabytes, blind, answer):
    """Fit where the system allows so much more memory; send what came of it.

    ``blind`` takes the question for memory out, to see what would happen.
    """
    import resource

    from unaligned.base import ViewClusterer
    from unaligned.estimators import estimator_named

    rng = np.random.default_rng(0)
    Xs = [rng.random(shape, dtype=np.float32) for shape in shapes]
    cls = estimator_named(name)
    model = cls(5, random_state=0, n_init=1)
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    # A compiler that runs out of memory does not say so: it takes forever.
    model.fit([X[:50] for X in Xs])
    if blind:
        ViewClusterer._ask_for_memory = lambda *_: None
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + megabytes * 10**6
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        answer.send((None, len(model.fit(Xs).labels_)))
    except MemoryError as error:
        answer.send((type(error).__name__, str(error)))
