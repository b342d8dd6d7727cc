import numpy as np
import pytest

from unaligned.shapes import MissingPart, check_shapes


def test_words_stand_for_one_length():
    sizes = {"v": 2, "d0": 3, "d1": 4}
    parts = {"Q": [np.ones((3, 2)), np.ones((4, 2))], "A": np.ones((5, 2))}
    check_shapes(parts, {"Q": ["d l"], "A": "m l"}, sizes)
    assert (sizes["l"], sizes["m"]) == (2, 5)
    with pytest.raises(ValueError, match=r"A has the shape \(5, 2\)"):
        check_shapes(parts, {"A": "l l"}, sizes)


def test_a_word_allows_infinity_and_none_anything():
    parts = {"scale": np.array([1, np.inf]), "rows": ([1, 2], np.arange(2)), "more": {}}
    shapes = {"scale": "inf d", "rows": {1: "int d"}, "more": None}
    check_shapes(parts, shapes, {"v": 1})
    with pytest.raises(ValueError, match="scale is not finite"):
        check_shapes(parts, {"scale": "d"}, {"v": 1})
    with pytest.raises(ValueError, match="scale is not finite"):
        check_shapes({"scale": np.array([np.nan])}, {"scale": "inf d"}, {"v": 1})
    for shapes in ({"less": None}, {"rows": {2: "int d"}}, {"more": {"points": "n"}}):
        with pytest.raises(MissingPart, match="is missing"):
            check_shapes(parts, shapes, {"v": 1})
