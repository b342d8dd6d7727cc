"""The page of the study: figures on trust, and a page for results of any number."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks import confidence, savuc
from benchmarks.pages import trust as trust_page
from benchmarks.pages.study import page
from unaligned.savuc.config import Settings
from unaligned.savuc.trust import trust_in


def record(excess, exact, side="development", name="one", **more):
    kind = more.pop("kind", "true")
    case = [kind, side, [name, 0, 1], 300, more.pop("seed", 0)]
    return {"case": case, "n": [300, 300], "excess": excess, "exact": exact, **more}


def some_records(n=200, side="development", seed=0):
    """Draw matchings that are the more likely right, the larger their excess."""
    rng = np.random.RandomState(seed)
    excess = rng.uniform(-0.2, 0.4, size=n)
    right = rng.rand(n) < 1 / (1 + np.exp(-(excess - 0.1) / 0.05))
    return [
        record(e, 0.9 if r else 0.0, side, f"set {at % 7}", seed=at)
        for at, (e, r) in enumerate(zip(excess, right, strict=True))
    ]


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(
    ("exact", "same_class", "right", "found"),
    [
        (0.05, 0.1, True, True),
        (0.049, 0.2, True, False),
        (0.049, 0.19, False, False),
        (0.0, None, False, False),
    ],
)
def test_a_matching_is_right_by_objects_or_by_classes(exact, same_class, right, found):
    classes = {} if same_class is None else {"same_class": same_class, "chance": 0.1}
    one = record(0.0, exact, **classes)
    assert trust_page.is_right(one) == right
    assert trust_page.finds_objects(one) == found


@pytest.mark.parametrize(
    ("excess", "exact", "same_class", "error"),
    [
        (1.0, 0.0, 0.1, True),  # trusted though wrong
        (-1.0, 0.5, 0.5, True),  # missed
        (1.0, 0.5, 0.5, False),
        (-1.0, 0.0, 0.1, False),
        (1.0, 0.0, 0.5, False),  # of classes only: neither is an error
        (-1.0, 0.0, 0.5, False),
    ],
)
def test_errors_are_false_trust_and_missed_objects(excess, exact, same_class, error):
    one = record(excess, exact, same_class=same_class, chance=0.1)
    assert trust_page.is_error(one) == error
    assert trust_page.errors_of([one]) == [one] * error


def test_fit_is_that_of_logistic_regression_without_penalty():
    records = some_records()
    point, sharpness, _ = trust_page.fit_trust(records)
    excess, right = trust_page.columns_of(records)
    plain = LogisticRegression(C=1e9, tol=1e-8, max_iter=1000)
    plain.fit(excess[:, None], right)
    assert point == pytest.approx(-plain.intercept_[0] / plain.coef_[0, 0], rel=1e-3)
    assert sharpness == pytest.approx(1 / plain.coef_[0, 0], rel=1e-3)


def test_separable_records_turn_in_the_middle_of_the_gap():
    records = [record(0.0, 0.0), record(0.1, 0.0), record(0.3, 0.9), record(0.5, 0.9)]
    point, sharpness, how = trust_page.fit_trust(records)
    assert point == pytest.approx(0.2)
    assert sharpness == pytest.approx(0.05)
    assert "gap" in how


def test_checking_sets_do_not_set_the_turning_point():
    records = some_records()
    fitted = trust_page.fit_trust(records)
    against = [record(-0.2, 0.9, "checking"), record(0.4, 0.0, "checking")]
    assert trust_page.fit_trust(records + 50 * against) == fitted
    assert trust_page.fit_trust(against) is None


def test_area_lies_within_its_interval_over_datasets():
    records = some_records(side="checking")
    area, low, high = trust_page.auroc(records)
    excess, right = trust_page.columns_of(records)
    assert area == pytest.approx(roc_auc_score(right, excess))
    assert low < area < high
    assert trust_page.auroc(records[:0]) is None


def test_calibration_error_is_that_of_ten_bins():
    records = some_records()
    trust = np.array([trust_in(r["excess"], Settings()) for r in records])
    right = np.array([r["exact"] >= 0.05 for r in records])
    error = 0.0
    for tenth in range(10):
        inside = np.minimum(np.floor(10 * trust), 9) == tenth  # 1 is in the last bin
        if inside.any():
            error += inside.mean() * abs(trust[inside].mean() - right[inside].mean())
    assert trust_page.calibration_error(records) == pytest.approx(error)
    assert trust_page.calibration_error([]) is None


def test_the_same_rows_count_once():
    one = record(0.2, 0.9)
    again = {**one, "case": [*one["case"][:3], 2000, 0]}
    other = {**one, "case": [*one["case"][:4], 1]}
    assert len(trust_page.distinct([one, again, other])) == 2


def test_same_class_by_name_counts_pairs_of_rows():
    rng = np.random.RandomState(0)
    labels_t, labels_i = rng.randint(3, size=(2, 40))
    y_t, y_i = rng.randint(4, size=(2, 40))
    pairs = [
        np.mean(y_t[labels_t == name] == y)
        for name, y in zip(labels_i, y_i, strict=True)
    ]
    found = savuc.same_class_by_name(labels_t, y_t, labels_i, y_i)
    assert found == pytest.approx(np.mean(pairs))


def test_page_says_what_was_not_run(tmp_path):
    nowhere = tmp_path / "none.jsonl"
    assert page(nowhere, nowhere).count("Not run.") == 8


def test_page_lists_every_error(tmp_path):
    wrong = record(0.9, 0.0, "checking", "Wiki", same_class=0.1, chance=0.1)
    missed = record(-0.9, 0.7, "checking", "Wiki", same_class=0.7, chance=0.1, seed=1)
    trust = write(tmp_path / "trust.jsonl", [wrong, missed, *some_records(9)])
    text = page(tmp_path / "none.jsonl", trust)
    assert "- FALSE TRUST: true, checking: Wiki 0 1" in text
    assert "- missed: true, checking: Wiki 0 1" in text


def test_page_names_views_that_are_matched_though_wrong(tmp_path):
    case = next(case for case in savuc.NOTHING_KNOWN if case.dataset == "Wiki")
    matched = {"template": 0, "matched": [1], "with a partner": [1.0]}
    matched |= {"same class": [0.1], "same object": [0.01], "AUC of confidence": [0.5]}
    result = {"case": [str(case), 0], "dataset": "Wiki", "side": "checking"}
    result |= {"rows": 2866, "views": [0, 1], "classes": 10, "ratio": 0.0, "shuffle": 0}
    result |= {"verdict": ["objects", "objects"], "trust": [1.0, 0.9], "chance": 0.1}
    result |= {"CPU seconds": 1.0, "peak GB": 0.5, "others": [], **matched}
    named = {"views": [], "acc": [], "floor": [], "same class": []}
    result |= {"joint": {"acc": 50.0, "floor_acc": 20.0}, "classes named": named}
    study = write(tmp_path / "study.jsonl", [result])
    text = page(study, tmp_path / "none.jsonl")
    assert "Wrong of them: 1: Wiki, 2,866 rows, shuffle 0, view 1." in text
    assert "| Wiki | checking | 2,866 | 1 | 2 of 2 | 0.100 (0.100) | 0.010" in text


def test_reliability_of_confidence_is_counted_by_bin_and_side():
    rng = np.random.RandomState(0)
    sure = rng.uniform(size=500)
    right = rng.uniform(size=500) < sure**2  # right less often than it says
    case = ["true", "checking", ["Wiki", 0, 1], 600, 0]
    one = {"case": case, "trusted": True} | confidence.binned(sure, right)
    refused = one | {"trusted": False}
    lines, more = confidence.reliability_table([one, refused])
    assert lines[0].startswith("| confidence | checking sets: matches")
    inside = (sure >= 0.5) & (sure < 0.6)
    shares = f"{sure[inside].mean():.2f} | {right[inside].mean():.2f}"
    assert f"| 0.5 to 0.6 | {inside.sum()} | {shares} |" in lines
    at = np.floor(10 * sure)
    gaps = [abs((sure - right)[at == b].sum()) for b in range(10)]
    assert f"expected calibration error {sum(gaps) / 500:.3f}" in more[-1]


def test_the_page_says_where_confidence_was_not_measured(tmp_path):
    nowhere = tmp_path / "none.jsonl"
    assert page(nowhere, nowhere, nowhere).count("Not run.") == 9
