"""Compiled search for sets of pairs of which every two agree.

Candidates pair a row of one table with a row of another. They are the nodes of a graph,
kept as bits: 64 nodes are looked at by one instruction.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling

__all__ = ["agreement_graph", "greedy_cliques"]

Floats: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]
Bits: TypeAlias = NDArray[np.uint64]

_compiled = compiling()


def _population_count(context: Any, word: Any) -> Any:
    """Count the bits of a word that are set, by one instruction."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


_count: Any = intrinsic(_population_count)


@_compiled
def agreement_graph(
    one: Floats, other: Floats, rows: Indices, partners: Indices, tolerance: float
) -> Bits:
    """Join pairs (i, j) and (k, l) where ``one[i, k]`` is near ``other[j, l]``.

    Parameters
    ----------
    one, other : ndarray of shape (n, n) and (m, m)
        A number for every two rows of a table.
    rows, partners : ndarray of shape (c,)
        Candidate pairs, of which those that share a row are not joined.
    tolerance : float
        Largest difference of two numbers that agree.

    Returns
    -------
    ndarray of shape (c, ⌈c / 64⌉)
        Bit b of row a is set if pairs a and b are joined.
    """
    n = len(rows)
    n_words = (n + 63) // 64
    bits = np.zeros((n, n_words), np.uint64)
    # In the order of the pairs, bit by bit of all words, so that one pair is compared
    # with one of every word at a time. What stays infinite agrees with none.
    of_rows = np.full((len(one), 64, n_words), np.float32(np.inf))
    of_partners = np.full((len(other), 64, n_words), np.float32(np.inf))
    for b in range(n):
        of_rows[:, b % 64, b // 64] = one[:, rows[b]]
        of_partners[:, b % 64, b // 64] = other[:, partners[b]]
    for a in range(n):
        of_rows[rows[a], a % 64, a // 64] = np.inf
        of_partners[partners[a], a % 64, a // 64] = np.inf
    for a in range(n):
        x, y, joined = of_rows[rows[a]], of_partners[partners[a]], bits[a]
        for bit in range(64):
            for word in range(n_words):
                near = abs(x[bit, word] - y[bit, word]) < tolerance
                joined[word] |= np.uint64(near) << np.uint64(bit)
    return bits


@_compiled
def first_bit(word: Any) -> np.intp:
    """Find the lowest bit of a word that is set."""
    return np.intp(_count(~word & (word - np.uint64(1))))


@_compiled
def n_in_common(one: Bits, other: Bits) -> np.intp:
    """Count the bits that are set in both of two rows."""
    n = np.uint64(0)
    for word in range(len(one)):
        n += _count(one[word] & other[word])
    return np.intp(n)


@_compiled
def second_nodes(bits: Bits, word: int) -> Indices:
    """Find the node that leaves most to choose from, beside each of 64 first nodes.

    These stay near the processor while all other rows pass by once.
    """
    firsts = bits[64 * word : 64 * word + 64]
    best, most_left = np.full(64, -1, np.intp), np.full(64, -1, np.intp)
    for node in range(len(bits)):
        left = bits[node, word]
        while left:
            first = first_bit(left)
            n_left = n_in_common(firsts[first], bits[node])
            if n_left > most_left[first]:
                best[first], most_left[first] = node, n_left
            left &= left - np.uint64(1)
    return best


@_compiled
def greedy_cliques(
    bits: Bits, n_grown: int, most: int, most_words: int
) -> tuple[Indices, Indices]:
    """Grow cliques from the first nodes, by the node that leaves most to choose from.

    Parameters
    ----------
    bits : ndarray of shape (c, ⌈c / 64⌉)
        A graph, as `agreement_graph` gives it.
    n_grown : int
        Cliques that are grown at most, each from a node of its own.
    most : int
        Nodes of a clique, at most.
    most_words : int
        Words that are looked at, at most, before the last clique is begun.

    Returns
    -------
    members : ndarray of shape (n_cliques, most)
        Nodes of every clique in the order in which they came; -1 where there are fewer.
    sizes : ndarray of shape (n_cliques,)
    """
    n, n_words = bits.shape
    n_grown = min(n_grown, n)
    members, sizes = np.full((n_grown, most), -1, np.intp), np.zeros(n_grown, np.intp)
    common, choices = np.empty(n_words, np.uint64), np.empty(n, np.intp)
    n_looked_at = 0
    for start in range(n_grown):
        if n_looked_at > most_words:
            return members[:start], sizes[:start]
        if start % 64 == 0:
            seconds = second_nodes(bits, start // 64)
        members[start, 0], size, best = start, 1, seconds[start % 64]
        common[:] = bits[start]
        n_choices = n_in_common(common, common)
        while size < most and n_choices > 0:
            n_looked_at += n_choices * n_words
            members[start, size] = best
            size += 1
            n_choices = 0
            for word in range(n_words):
                common[word] &= bits[best, word]
                left = common[word]
                while left:
                    choices[n_choices] = 64 * word + first_bit(left)
                    n_choices += 1
                    left &= left - np.uint64(1)
            best, most_left = choices[0], 0
            for node in choices[:n_choices]:
                n_left = n_in_common(common, bits[node])
                if n_left > most_left:
                    best, most_left = node, n_left
        sizes[start] = size
    return members, sizes
