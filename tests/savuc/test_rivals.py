import numpy as np
import pytest
from related_views import (
    QUICK,
    search_view,
    shuffled_columns,
    shuffled_pair,
    true_cross,
)

from unaligned.kernels.devices import Cores
from unaligned.savuc import rivals as module
from unaligned.savuc.rivals import examine, fit_against_rivals, rival
from unaligned.savuc.search import PairSearch
from unaligned.savuc.trust import UNTESTED, Evidence, excess_over


def rng(seed=0):
    return np.random.RandomState(seed)


def searched(X, Y, order):
    """A search, and the truth that its rivals are compared with."""
    views = search_view(X), search_view(Y)
    truth = true_cross(*(view.whitened for view in views), order)
    return PairSearch(*views, QUICK, Cores()), truth


def test_a_rival_of_what_it_finds_itself_is_none(monkeypatch):
    search, truth = searched(*shuffled_pair(200))
    # Refinement that always ends at the truth: there is no other matching.
    monkeypatch.setattr(PairSearch, "refine", lambda *_: (truth, 1.0))
    assert rival(search, truth, False, None, rng()) is None
    # To any other matching it is a rival, as good as it is.
    reached, evidence = rival(search, -truth, False, None, rng())
    assert reached is truth
    assert evidence.lower > 0.1


def test_what_was_refined_is_not_refined_again(monkeypatch):
    search, truth = searched(*shuffled_pair(200))
    monkeypatch.setattr(PairSearch, "refine", lambda *_: pytest.fail("refined"))
    assert rival(search, truth, True, truth, rng()) is None
    reached, evidence = rival(search, -truth, True, truth, rng())
    assert reached is truth
    assert evidence.lower > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_rivals_from_random_starts_are_not_as_good_as_the_truth(seed):
    search, truth = searched(*shuffled_pair(200, seed=seed))
    (_, evidence), *others = examine(search, truth, [], [], rng(seed))
    assert len(others) >= QUICK.n_rivals
    assert excess_over(evidence, [found for _, found in others]) > 0


def test_what_else_was_found_comes_first_among_the_rivals(monkeypatch):
    search, truth = searched(*shuffled_pair(200))
    started, others = [], [np.full(truth.shape, float(i)) for i in range(2)]

    def spy(search, cross, is_refined, start, rng):
        started.append(start)
        return -cross, Evidence(0.0, 0.0)

    monkeypatch.setattr(module, "rival", spy)
    examine(search, truth, [], others, rng())
    ours = [start for start in started if start is not None]
    assert {start[0, 0] for start in ours} == {0.0, 1.0}
    assert len(started) > 2
    # They take the place of random starts; there are no more rivals for it.
    n_rivals = len(started)
    started.clear()
    examine(search, truth, [], others * 20, rng())
    assert len(started) == n_rivals
    assert all(start is not None for start in started)


def test_rivals_that_cannot_be_tested_have_no_evidence():
    X, Y, order = shuffled_pair(100)
    search, truth = searched(X[:, :3], Y, order)
    _, evidence = rival(search, -truth, False, None, rng())
    assert evidence == UNTESTED
    found = fit_against_rivals(search, (truth, 1.0), [], [], rng())
    assert found.trust == 0
    assert {*found.rivals} <= {(0.0, 0.0)}


@pytest.mark.parametrize("nothing", [Evidence(-0.1, 0.02), Evidence(0.0, 0.0)])
def test_rivals_are_spared_where_there_is_no_evidence(nothing, monkeypatch):
    X, Y, order = shuffled_pair(100)
    search, truth = searched(X, shuffled_columns(Y), order)
    monkeypatch.setattr(module, "held_out_evidence", lambda *_: nothing)
    monkeypatch.setattr(module, "rival", lambda *_: pytest.fail("not spared"))
    assert examine(search, truth, [], [], rng()) == [(truth, nothing)]


@pytest.mark.parametrize("last", [0.0, 1.0])
def test_of_few_factors_all_is_tested_if_there_is_evidence_for_what_was_refined(
    last, monkeypatch
):
    search, truth = searched(*shuffled_pair(200))
    search.few_factors = True
    known = {2.0: Evidence(last, 0.1), 3.0: Evidence(2.0, 0.1)}
    refined, other = (np.full(truth.shape, value) for value in known)
    nothing = Evidence(0.0, 0.0)
    monkeypatch.setattr(module, "held_out_evidence", lambda *_: nothing)
    monkeypatch.setattr(
        module,
        "compete",
        lambda search, cross, starts, *_: [
            (start, known[start[0, 0]]) for start in starts if start is not None
        ],
    )
    found = fit_against_rivals(search, (truth, 1.0), [refined], [other], rng())
    assert found.evidence == (known[3.0] if last else nothing)


@pytest.mark.parametrize("few", [False, True])
def test_no_more_rivals_are_tested_once_one_is_as_good(few, monkeypatch):
    search, truth = searched(*shuffled_pair(200))
    search.few_factors = few
    alike = [Evidence(0.0, 0.1)] * 5 + [Evidence(1.0, 0.05)] + [Evidence(0.0, 0.1)] * 50
    started = []

    def spy(search, cross, is_refined, start, rng):
        started.append(start)
        return -cross, alike[len(started) - 1]

    monkeypatch.setattr(module, "rival", spy)
    others = [truth] * 6
    found = fit_against_rivals(search, (truth, 1.0), others, [], rng())
    assert all(start is truth for start in started[:6])
    if few:  # the best of all that was found leads, and the others are not as good
        assert found.evidence == alike[5]
        assert len(started) > 8
    else:
        assert found.trust < 0.01
        assert len(started) == 8


def test_where_factors_are_few_the_matching_with_most_evidence_is_tested(monkeypatch):
    search, truth = searched(*shuffled_pair(100))
    known = {1.0: Evidence(0.2, 0.01), 2.0: Evidence(0.5, 0.02), 3.0: Evidence(0.3, 0)}
    crosses = [np.diag(np.eye(len(truth))[i] * (i + 1.0)) for i in range(3)]
    monkeypatch.setattr(
        module,
        "examine",
        lambda *_: [(cross, known[cross.max()]) for cross in crosses],
    )
    for few, at in ((False, 0), (True, 1)):
        search.few_factors = few
        found = fit_against_rivals(search, (crosses[0], 9.0), crosses[1:], [], rng())
        assert found.cross is crosses[at]
        assert found.evidence == known[at + 1.0]
        others = [known[i + 1.0] for i in range(3) if i != at]
        assert found.rivals == tuple(others)
        assert found.excess == excess_over(found.evidence, others)
