"""Model files forged in hundreds of ways, and what a forged model can do.

`load` gives a model or one ValueError. A model whose parts do not fit can fail when it
is used, like any object with wrong attributes, but with an exception of Python's.
"""

import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import unaligned
from tests.conftest import ROOT, make_blobs
from tests.torture.forging import forged, members_of, write_members
from unaligned import PAVuC
from unaligned.baselines import LMVSC

CASES = int(os.environ.get("UNALIGNED_FUZZ_CASES", "700")) // 3


def use(model, Xs):
    """Ask a model everything that may rest on forged parts."""
    for ask in (
        lambda: model.predict(Xs[1], view=1),
        lambda: model.alignment_.pairs(0, 1),
        lambda: model.alignment_.trusted_pairs(),
        lambda: model.single_view_labels_,
        lambda: repr(model),
    ):
        with np.errstate(all="ignore"):
            try:
                ask()
            except Exception:
                continue


@pytest.mark.filterwarnings("ignore")  # of NumPy and scikit-learn, about wrong numbers
@pytest.mark.parametrize("cls", [LMVSC, PAVuC])
def test_a_forged_file_gives_a_model_or_a_value_error(
    cls, tmp_path, capfd, monkeypatch
):
    Xs = make_blobs(n=12)[0]
    cls(2, n_init=1, random_state=0).fit(Xs).save(tmp_path / "sound")
    members = members_of(tmp_path / "sound")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    results = Counter()
    for seed in range(CASES):
        chance = random.Random(seed)
        path = tmp_path / "forged"
        write_members(path, forged(members, chance, seed))
        try:
            model = unaligned.load(path)
        except ValueError as error:
            results["refused" if str(path) in str(error) else str(error)] += 1
        else:
            results["loaded"] += 1
            if seed % 4 == 0:
                use(model, Xs)
    assert results["refused"] > CASES / 5
    assert results["refused"] + results["loaded"] == CASES
    assert not list((tmp_path / "here").iterdir())
    assert capfd.readouterr() == ("", "")


SAMPLE = """
from benchmarks.fuzz import TARGETS, run_child
for target in TARGETS["models"]:
    run_child(target, 0, 5)
"""


def test_a_sample_of_every_estimator_and_checkpoint():
    """The whole of it is ``python -m benchmarks.fuzz``."""
    run = subprocess.run(
        [sys.executable, "-c", SAMPLE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    ends = Counter(run.stdout.splitlines())
    assert ends["refused"] > 20
    assert not ends.keys() - {"begin", "refused", "right", "other answers"}
