import numpy as np
import pytest

from unaligned import Alignment
from unaligned.known_pairs import check_aligned
from unaligned.untested import untested_alignment, with_verdicts
from unaligned.views import check_views

N = 6
VIEWS = check_views([np.random.RandomState(i).normal(size=(N, 3)) for i in range(4)])
ROWS = [np.arange(N), np.roll(np.arange(N), 1), np.arange(N)[::-1], np.arange(N)]
SURE = [np.ones(N)] * 4  # guesses that have no rival


def test_matches_are_not_tested_and_known_ones_are_counted():
    pairs = check_aligned({(0, 1): [(2, 1), (5, 4)], (1, 2): [(1, 3)]}, VIEWS)
    found = untested_alignment(0, ROWS, SURE, VIEWS, pairs)
    assert found.verdict == ["objects", *["untested"] * 3]
    np.testing.assert_array_equal(found.trust, [1, *[np.nan] * 3])
    np.testing.assert_allclose(found.known, [1, 2 / 6, 1 / 6, 0])
    np.testing.assert_array_equal(found.trusted_pairs()[0, 1], [(2, 1), (5, 4)])
    np.testing.assert_array_equal(found.trusted_pairs()[0, 2], [(2, 3)])
    assert (0, 3) not in found.trusted_pairs()
    assert found.trusted() == found.matched() == [0]


def test_a_known_pair_that_the_method_did_not_keep_is_no_pair():
    pairs = check_aligned({(0, 1): [(2, 1), (5, 0)]}, VIEWS)
    found = untested_alignment(0, ROWS, SURE, VIEWS, pairs)
    assert found.known[1] == pytest.approx(2 / 6)
    np.testing.assert_array_equal(found.trusted_pairs()[0, 1], [(2, 1)])


@pytest.mark.parametrize("template", [0, 1])
def test_what_align_found_keeps_its_verdict(template):
    """Views 0 and 1 are matched, 2 by class, and 3 not at all."""
    given = check_aligned({(0, 1): [(2, 1)]}, VIEWS)
    rows = [np.arange(N), np.where(np.arange(N) == 4, -1, ROWS[1])]
    nobody = np.full(N, -1)
    sure = np.linspace(0.3, 0.8, N)
    align = Alignment(
        0,
        [*rows, nobody, nobody],
        [np.ones(N), sure, np.zeros(N), np.zeros(N)],
        np.array([1, 0.9, 0.8, 0.2]),
        verdict=["objects", "objects", "classes", "none"],
        basis=["structure", "known pairs", "structure", "structure"],
    )
    pairs = given.with_found(align)
    assert len(pairs.between(0, 1)[0]) == N - 1
    permutations = [own[np.argsort(ROWS[template])] for own in ROWS]
    found = untested_alignment(template, permutations, SURE, VIEWS, pairs)
    other = 1 - template
    assert [found.verdict[i] for i in (other, 2, 3)] == ["objects", *["untested"] * 2]
    assert found.trust[other] == 0.9
    assert found.basis[other] == "known pairs"
    assert found.known[other] == pytest.approx(1 / 6)
    # Row s of view 0 belongs to row s - 1 of view 1; row 2 is known, row 4 a guess.
    at = np.arange(N) if template == 0 else ROWS[1]
    expected = np.where(np.arange(N) == 2, 1, np.where(np.arange(N) == 4, 1, sure))
    np.testing.assert_allclose(found.confidence[other][at], expected, rtol=1e-6)
    assert found.confidence[other][at[4]] < 1 == found.confidence[other][at[2]]


def test_trust_of_before_was_the_share_of_known_pairs():
    before = Alignment(1, ROWS, SURE, np.array([0.7, 1, 0, 0.2]))
    now = with_verdicts(before)
    assert now.verdict == ["untested", "objects", "untested", "untested"]
    np.testing.assert_array_equal(now.trust, [np.nan, 1, np.nan, np.nan])
    np.testing.assert_array_equal(now.known, [0.7, 1, 0, 0.2])
    assert with_verdicts(now) is now
