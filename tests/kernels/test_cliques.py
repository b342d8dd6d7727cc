from itertools import combinations

import numpy as np
import pytest

from unaligned.kernels.cliques import agreement_graph, greedy_cliques

MANY = 10**12


def joined(bits, n):
    """The graph as a table of booleans."""
    table = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
    assert not table[:, n:].any()
    return table[:, :n].astype(bool)


def as_bits(table):
    n = len(table)
    padded = np.zeros((n, 64 * ((n + 63) // 64)), dtype=bool)
    padded[:, :n] = table
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def random_graph(n, share, seed):
    table = np.triu(np.random.RandomState(seed).uniform(size=(n, n)) < share, 1)
    return table | table.T


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_joined_where_their_numbers_agree(seed):
    rng = np.random.RandomState(seed)
    one, other = (rng.normal(size=(m, m)).astype(np.float32) for m in (9, 11))
    one, other = one + one.T, other + other.T
    rows, partners = rng.randint(9, size=150), rng.randint(11, size=150)
    found = joined(agreement_graph(one, other, rows, partners, 0.8), 150)
    for a, b in combinations(range(150), 2):
        apart = abs(one[rows[a], rows[b]] - other[partners[a], partners[b]])
        shared = rows[a] == rows[b] or partners[a] == partners[b]
        assert found[a, b] == found[b, a] == (apart < 0.8 and not shared)
    assert not found.diagonal().any()


@pytest.mark.parametrize(("n", "share"), [(5, 0.0), (64, 0.3), (130, 0.6), (70, 1.0)])
def test_cliques_grow_by_the_node_that_leaves_most(n, share):
    table = random_graph(n, share, seed=n)
    members, sizes = greedy_cliques(as_bits(table), n, n, MANY)
    for start in range(n):
        clique, common = [start], table[start].copy()
        while common.any():
            left = (table & common).sum(axis=1)
            clique.append(int(np.where(common, left, -1).argmax()))
            common &= table[clique[-1]]
        assert members[start, : sizes[start]].tolist() == clique
        assert (members[start, sizes[start] :] == -1).all()


def test_a_clique_that_is_hidden_is_found():
    table = random_graph(300, 0.2, seed=1)
    hidden = np.random.RandomState(2).permutation(300)[:20]
    table[np.ix_(hidden, hidden)] = True
    np.fill_diagonal(table, False)
    members, sizes = greedy_cliques(as_bits(table), 300, 100, MANY)
    best = sizes.argmax()
    assert {*hidden.tolist()} <= {*members[best, : sizes[best]].tolist()}


def test_no_more_cliques_and_no_larger_ones_than_asked_for():
    table = random_graph(40, 0.9, seed=0)
    members, sizes = greedy_cliques(as_bits(table), 7, 3, MANY)
    assert members.shape == (7, 3)
    assert sizes.tolist() == [3] * 7
    assert members[:, 0].tolist() == [*range(7)]
    members, sizes = greedy_cliques(as_bits(table), 100, 3, MANY)
    assert members.shape == (40, 3)


def test_no_clique_is_begun_after_so_many_words():
    table = random_graph(200, 0.5, seed=0)
    whole, _ = greedy_cliques(as_bits(table), 200, 200, MANY)
    # The first step of the first clique looks at some 100 nodes of 4 words.
    for most, n_cliques in ((0, 1), (100, 1), (MANY, 200)):
        members, sizes = greedy_cliques(as_bits(table), 200, 200, most)
        assert len(members) == len(sizes) == n_cliques
        np.testing.assert_array_equal(members, whole[:n_cliques])


def test_no_candidate_is_no_clique():
    nothing = np.empty(0, dtype=np.intp)
    table = np.zeros((2, 2), dtype=np.float32)
    bits = agreement_graph(table, table, nothing, nothing, 1.0)
    members, sizes = greedy_cliques(bits, 10, 5, MANY)
    assert members.shape == (0, 5)
    assert sizes.shape == (0,)
