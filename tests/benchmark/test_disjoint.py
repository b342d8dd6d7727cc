"""Statistics of maps without partners, on views where the right map is known."""

import json

import numpy as np
import pytest

from benchmarks import disjoint
from unaligned.datasets import load_digits_views
from unaligned.json_lines import read_records
from unaligned.savuc.config import NORMAL
from unaligned.savuc.geometry import read_geometry, whiten


@pytest.fixture(scope="module")
def halves():
    """Different rows of one view, in the same whitened directions."""
    X = load_digits_views().Xs[0][:1000]
    geometry = read_geometry(X, 20, np.random.RandomState(0))
    points = whiten(geometry.points, NORMAL.ridge)
    return points[::2], points[1::2]


def turned(d):
    return np.linalg.qr(np.random.RandomState(1).normal(size=(d, d)))[0]


def test_the_right_map_carries_over_and_a_random_one_does_not(halves):
    rng = np.random.RandomState(0)
    one, other = halves
    right = disjoint.statistics(np.eye(one.shape[1]), one, other, rng)
    random = disjoint.statistics(turned(one.shape[1]), one, other, rng)
    for found, none in zip(right, random, strict=True):
        assert found.shape == none.shape == (len(one),)
        assert found.mean() > 0.1
        assert abs(none.mean()) < 0.03


def test_a_map_is_tested_on_rows_it_was_not_learned_from(halves):
    evidence, _ = disjoint.tested(
        np.eye(halves[0].shape[1]), halves, np.random.RandomState(0)
    )
    assert evidence.lower > 0.05


def test_every_case_was_run():
    done = {json.dumps(record["case"]) for record in read_records(disjoint.RESULTS)}
    assert done == {json.dumps(list(case)) for case in disjoint.cases()}
