"""The two compiled searches behind the greedy matching: a tree, and a plain scan.

Both give the literal greedy answer. The tree rests on five ideas.

1. *Neighbours lie together.* Columns are sorted once, by their heaviest coordinate, the
   second heaviest and the weight of the heaviest. Median splits leave more to search.
2. *Sixteen at a time.* A block is an (m, 16) array, read in vector registers. A leaf
   holds sixteen columns; a block above holds, per child, the componentwise maximum of
   its free columns. Beside each child stands its smallest free column.
3. *Two bounds.* The inner product with the maxima bounds the scores below, to the last
   bit because rounding is monotone. And a column has a limited mass to spend: spending
   it on the heaviest coordinates of the row, each up to its maximum, bounds them too
   (a fractional knapsack; rounding needs a margin). The smaller of the two counts.
4. *Ties are pruned as well.* A child whose bound equals the best score is skipped when
   its smallest column comes after the best one. Thousands of equal columns cost one
   visit, and the tie rule (smallest column) is kept.
5. *Taken columns vanish.* Removing one recomputes only the maxima it held. Whenever
   half of the columns are gone, the tree is packed anew from the rest.

A score is a chain of fused multiply-adds over ascending coordinates, less the zero
weights, which change no bit: the same everywhere, and mostly the same as in BLAS.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.lanes import (
    WIDTH,
    Lanes,
    at_least,
    compiled,
    fma,
    inlined,
    largest,
    load,
    lowest_bit,
    smaller,
    spread,
    store,
)

__all__ = ["arrange", "match_by_scan", "match_by_tree"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

WINDOW = 64  # rows between two looks at how well the tree prunes
NOBODY = 2**62  # after every column
SPENT = -1.0  # below every bound: this child has been visited
EPSILON = float(np.finfo(np.float64).eps)
TINY = 1e-300  # added to knapsacks, which a product that underflows would spoil

# --- What both searches share ------------------------------------------------------


class Query(NamedTuple):
    """A row, and its non-zero coordinates in two orders."""

    weights: Floats
    support: Indices  # ascending: the order of the score
    heaviest: Indices  # by descending weight: the order of the knapsack


@compiled
def _query(weights: Floats, room: Indices) -> Query:
    """Find the non-zero coordinates of a row; ``room`` is (2, m)."""
    support, heaviest = room
    size = 0
    for h in range(weights.size):
        if weights[h] != 0.0:
            support[size] = h
            place = size
            while place > 0 and weights[heaviest[place - 1]] < weights[h]:
                heaviest[place] = heaviest[place - 1]
                place -= 1
            heaviest[place] = h
            size += 1
    return Query(weights, support[:size], heaviest[:size])


@inlined
def _scores(blocks: Floats, node: int, query: Query, total: Lanes) -> Lanes:
    """Inner products of the row with sixteen columns, on top of a given total."""
    for h in query.support:
        total = fma(spread(query.weights[h]), load(blocks, (node, h)), total)
    return total


@compiled
def _pack(columns: Floats, members: Indices, n_blocks: int) -> tuple[Floats, Indices]:
    """Copy the members to the first lanes of new blocks; tell who is where."""
    blocks = np.zeros((n_blocks, columns.shape[1], WIDTH))
    packed = np.full((n_blocks, WIDTH), NOBODY)
    for position, column in enumerate(members):
        node, lane = position // WIDTH, position % WIDTH
        packed[node, lane] = column
        for h in range(columns.shape[1]):
            blocks[node, h, lane] = columns[column, h]
    return blocks, packed


@compiled
def match_by_scan(
    rows: Floats, columns: Floats, order: Indices, taken: Flags, column_of_row: Indices
) -> None:
    """Match the rows listed in ``order``, looking at every free column for each.

    Rows and columns are C-contiguous and finite. The columns marked in ``taken`` are
    gone. Both ``taken`` and ``column_of_row`` are brought up to date.
    """
    room = np.empty((2, columns.shape[1]), np.intp)
    n_packed = n_free = 0
    for row in order:
        # Packing at every eighth stays cheap and leaves few taken columns to look at.
        if n_free <= n_packed - n_packed // 8:
            free = np.flatnonzero(~taken)
            n_packed = n_free = free.size
            blocks, _ = _pack(columns, free, (n_packed + WIDTH - 1) // WIDTH)
            # Totals start from 0, or from -inf where there is no free column.
            start = np.full((len(blocks), WIDTH), -np.inf)
            start.reshape(-1)[:n_packed] = 0.0
        query = _query(rows[row], room)
        best, position = -np.inf, 0
        for node in range(len(blocks)):
            scores = _scores(blocks, node, query, load(start, (node,)))
            if at_least(scores, best) != 0 and largest(scores) > best:
                best = largest(scores)
                position = node * WIDTH + lowest_bit(at_least(scores, best))
        start[position // WIDTH, position % WIDTH] = -np.inf
        column_of_row[row] = free[position]
        taken[free[position]] = True
        n_free -= 1


# --- The tree ----------------------------------------------------------------------


class Tree(NamedTuple):
    """Blocks of all levels: the leaves first, the single root block last."""

    blocks: Floats  # (n_blocks, m, 16): columns, or maxima of the columns below
    smallest: Indices  # (n_blocks, 16): smallest free column, or NOBODY
    start: Indices  # first block of each level, then the number of blocks


def arrange(columns: Floats) -> Indices:
    """Order the columns so that similar ones are neighbours; equal ones stay put."""
    heaviest = columns.argmax(axis=1)
    rest = columns.copy()
    rest[np.arange(len(columns)), heaviest] = 0.0
    second = np.where(rest.max(axis=1) > 0.0, rest.argmax(axis=1), -1)
    return np.lexsort((columns.max(axis=1), second, heaviest))


@compiled
def _build(columns: Floats, members: Indices) -> Tree:
    """Pack the members in their order, with a level above the leaves at least."""
    start = np.zeros(WIDTH + 2, np.intp)
    n_levels, size = 0, members.size
    while n_levels < 2 or size > 1:
        size = (size + WIDTH - 1) // WIDTH
        n_levels += 1
        start[n_levels] = start[n_levels - 1] + size
    blocks, smallest = _pack(columns, members, start[n_levels])
    for level in range(1, n_levels):
        for place in range(start[level] - start[level - 1]):
            child = start[level - 1] + place
            node, lane = start[level] + place // WIDTH, place % WIDTH
            for h in range(columns.shape[1]):
                blocks[node, h, lane] = largest(load(blocks, (child, h)))
            smallest[node, lane] = smallest[child].min()
    return Tree(blocks, smallest, start[: n_levels + 1])


@compiled
def _remove(tree: Tree, values: Floats, position: int, held: Indices) -> None:
    """Take out the column with these values; ``held`` is room for m coordinates."""
    node, lane = position // WIDTH, position % WIDTH
    column = tree.smallest[node, lane]
    tree.smallest[node, lane] = NOBODY
    n_held = 0  # coordinates whose maximum the column is, as far up as we have come
    for h in range(values.size):
        if values[h] > 0.0:
            tree.blocks[node, h, lane] = 0.0
            held[n_held] = h
            n_held += 1
    for level in range(1, tree.start.size - 1):
        child = tree.start[level - 1] + node
        node, lane = node // WIDTH, node % WIDTH
        parent = tree.start[level] + node
        n_candidates, n_held = n_held, 0
        for h in held[:n_candidates]:
            if tree.blocks[parent, h, lane] == values[h]:
                tree.blocks[parent, h, lane] = largest(load(tree.blocks, (child, h)))
                held[n_held] = h
                n_held += 1
        if tree.smallest[parent, lane] == column:
            tree.smallest[parent, lane] = tree.smallest[child].min()
        elif n_held == 0:
            return


@inlined
def _bounds(tree: Tree, node: int, query: Query, mass: float) -> Lanes:
    """Upper bounds of the scores below each child, both ideas combined."""
    box = _scores(tree.blocks, node, query, spread(0.0))
    if query.support.size <= 1:
        return box  # and some column attains it
    total, room = spread(0.0), spread(mass)
    for h in query.heaviest:
        spent = smaller(load(tree.blocks, (node, h)), room)
        total = fma(spread(query.weights[h]), spent, total)
        room = fma(spent, spread(-1.0), room)
    # A score is rounded m times, a knapsack 2 m times: the margin is twice as wide.
    margin = (4 * tree.blocks.shape[1] + 8) * EPSILON
    return smaller(box, fma(total, spread(1.0 + margin), spread(TINY)))


@inlined
def _best_lane(lanes: Lanes, smallest: Indices) -> tuple[float, int]:
    """Largest value and its lane: among equals, the one of the smallest column."""
    value = largest(lanes)
    mask = at_least(lanes, value)
    best = lowest_bit(mask)
    while mask != 0:
        lane = lowest_bit(mask)
        if smallest[lane] < smallest[best]:
            best = lane
        mask &= mask - 1
    return value, best


@compiled
def _search(
    tree: Tree, query: Query, mass: float, path: Indices, bounds: Floats
) -> tuple[int, int]:
    """Find the column of largest score, depth first and the best bound first.

    Returns its position among the leaves and the number of leaves looked at. ``path``
    and ``bounds`` are room for a node per level and for the bounds of its children.
    """
    best, column, position, n_visited = SPENT, NOBODY, 0, 0
    level = top = tree.start.size - 2
    path[top] = 0
    store(bounds, (top,), _bounds(tree, tree.start[top], query, mass))
    while level <= top:
        node = tree.start[level] + path[level]
        bound, lane = _best_lane(load(bounds, (level,)), tree.smallest[node])
        smallest = tree.smallest[node, lane]
        if bound < best or (bound == best and smallest > column):
            level += 1  # no child of this node can win any more
            continue
        bounds[level, lane] = SPENT
        child = path[level] * WIDTH + lane
        if level > 1:
            level -= 1
            path[level] = child
            node = tree.start[level] + child
            store(bounds, (level,), _bounds(tree, node, query, mass))
            continue
        n_visited += 1
        scores = _scores(tree.blocks, child, query, spread(0.0))
        score, lane = _best_lane(scores, tree.smallest[child])
        smallest = tree.smallest[child, lane]
        if score > best or (score == best and smallest < column):
            best, column, position = score, smallest, child * WIDTH + lane
    return position, n_visited


@compiled
def match_by_tree(
    rows: Floats,
    columns: Floats,
    order: Indices,
    arrangement: Indices,
    patience: float,
    taken: Flags,
    column_of_row: Indices,
) -> int:
    """Match rows as :func:`match_by_scan` does, for as long as the tree prunes.

    No entry may be negative; ``arrangement`` is that of :func:`arrange`. Returns how
    many rows of ``order`` are matched: fewer than all when they come to look at more
    than the share ``patience`` of the leaves.
    """
    room = np.empty((2, columns.shape[1]), np.intp)
    path, bounds = np.empty(WIDTH, np.intp), np.empty((WIDTH, WIDTH))
    mass = 0.0
    for column in columns:
        mass = max(mass, column.sum())
    mass *= 1.0 + columns.shape[1] * EPSILON  # the sums are rounded, too
    n_built = n_free = n_visited = 0
    for turn, row in enumerate(order):
        if 2 * n_free <= n_built:
            members = arrangement[~taken[arrangement]]
            n_built = n_free = members.size
            tree = _build(columns, members)
        query = _query(rows[row], room)
        position, n_leaves = _search(tree, query, mass, path, bounds)
        _remove(tree, columns[members[position]], position, room[0])
        column_of_row[row] = members[position]
        taken[members[position]] = True
        n_free -= 1
        n_visited += n_leaves
        if turn % WINDOW == WINDOW - 1:
            if n_visited > patience * WINDOW * tree.start[1]:
                return turn + 1
            n_visited = 0
    return int(order.size)
