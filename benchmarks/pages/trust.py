"""What the records of `benchmarks.trust` say: where trust is right, and where wrong.

A matching is right if at least a twentieth of the rows found their own object, or if
rows of one class meet at least twice as often as by chance. Anything else is wrong, and
to trust it is a false trust. A matching of objects that is not trusted was missed; of
one that matches classes only, either is no error.
"""

import json

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from unaligned.alignment import TRUSTED
from unaligned.savuc.config import Settings
from unaligned.savuc.trust import trust_in

LEAST_EXACT = 0.05
LEAST_OVER_CHANCE = 2
N_BINS = 10  # of trust
N_BOOTSTRAPS = 1000
SIZES = ((0, 300), (300, 1000), (1000, 10**9))  # rows of the smaller view
SIDES = ("development", "checking", "generated", "related")
FITTED = ("development", "generated", "related")  # sides that set constants
KINDS = {
    "cross": "of different datasets",
    "columns": "columns permuted one by one",
    "disjoint": "different objects of one dataset",
    "generated": "generated, unrelated",
    "true": "the same objects",
    "shuffles": "the same objects, of CCV",
    "related": "generated, related",
}


def kind_of(record):
    """Tell what the two views have to do with each other."""
    return record["case"][0]


def side_of(record):
    """Tell the side of the split, or that the views were generated."""
    return record["case"][1]


def distinct(records):
    """Leave out repetitions: a dataset with few rows is the same at several sizes."""
    return list(
        {
            json.dumps([kind_of(r), side_of(r), r["case"][2], r["n"], r["case"][4]]): r
            for r in records
        }.values()
    )


def finds_objects(record):
    """Tell whether a matching has found objects."""
    return record["exact"] >= LEAST_EXACT


def is_right(record):
    """Tell whether a matching is right, of objects or at least of classes."""
    over_chance = record.get("same_class", 0.0) / record.get("chance", 1.0)
    return finds_objects(record) or over_chance >= LEAST_OVER_CHANCE


def trust_of(record):
    """Trust in a matching, by the settings of today."""
    return trust_in(record["excess"], Settings())


def is_trusted(record):
    """Tell whether the verdict on a pair would be "objects"."""
    return trust_of(record) >= TRUSTED


def is_error(record):
    """Tell whether a wrong matching is trusted, or one of objects is not."""
    if is_trusted(record):
        return not is_right(record)
    return finds_objects(record)


def of_side(records, *sides):
    """Select the records of some sides."""
    return [record for record in records if side_of(record) in sides]


def columns_of(records):
    """Excess and whether it is right, of all records."""
    excess = np.array([record["excess"] for record in records], dtype=np.float64)
    return excess, np.array([is_right(record) for record in records], dtype=bool)


def fit_trust(records):
    """Give the turning point and the sharpness of trust, and how they were found."""
    excess, right = columns_of(of_side(records, *FITTED))
    if right.all() or not right.any():
        return None
    worst, best = excess[right].min(), excess[~right].max()
    if best < worst:
        # The likelihood grows without end as the curve gets steeper. Any point of the
        # gap separates them; the middle is as far as can be from both sides, and with a
        # quarter of the gap trust is .12 at the one end and .88 at the other.
        return (worst + best) / 2, (worst - best) / 4, "middle of the gap"

    def loss(parameters):
        signs = np.where(right, 1.0, -1.0)
        return np.logaddexp(0, -signs * (parameters[0] + parameters[1] * excess)).sum()

    offset, slope = minimize(loss, np.array([0.0, 1.0]), method="BFGS").x
    return -offset / slope, 1 / slope, "maximum likelihood"


def describe_fit(records):
    """Line on the settings of trust, and on what fits the records best."""
    now = "Turning point {0.turning_point:.3f}, sharpness {0.sharpness:.3f} (settings)"
    fitted = fit_trust(records)
    told = "{:.3f} and {:.3f}, {}".format(*fitted) if fitted else "not run"
    return f"{now.format(Settings())}; fitted on {', '.join(FITTED)}: {told}"


def auroc(records):
    """Area under the curve of excess, with a 95 % interval over datasets.

    Whole datasets are drawn with replacement, because pairs of views of one dataset
    are alike. A pair of views of two datasets counts with the first.
    """
    excess, right = columns_of(records)
    if not len(right) or right.all() or not right.any():
        return None
    names = np.array([record["case"][2][0] for record in records])
    members = [np.flatnonzero(names == name) for name in np.unique(names)]
    rng = np.random.RandomState(0)
    areas = []
    for _ in range(N_BOOTSTRAPS):
        drawn = rng.randint(len(members), size=len(members))
        rows = np.concatenate([members[at] for at in drawn])
        if 0 < right[rows].sum() < len(rows):
            areas.append(area_under_curve(right[rows], excess[rows]))
    low, high = np.percentile(areas, [2.5, 97.5])
    return area_under_curve(right, excess), float(low), float(high)


def area_under_curve(right, excess):
    """Share of pairs of a right and a wrong one in which the right one has more.

    By ranks; scikit-learn's check of its input takes many times as long.
    """
    n = right.sum()
    above = rankdata(excess)[right].sum() - n * (n + 1) / 2
    return float(above / (n * (len(right) - n)))


def reliability(records):
    """Mean trust, share that is right and number of pairs, in bins of trust."""
    trust = np.array([trust_of(record) for record in records])
    right = columns_of(records)[1]
    bins = np.minimum((N_BINS * trust).astype(int), N_BINS - 1)
    return [
        (at, trust[bins == at].mean(), right[bins == at].mean(), np.sum(bins == at))
        for at in range(N_BINS)
        if np.any(bins == at)
    ]


def calibration_error(records):
    """Tell how far trust is from the share that is right, on average over pairs."""
    found = reliability(records)
    if not found:
        return None
    errors = [abs(mean - share) * count for _, mean, share, count in found]
    return sum(errors) / len(records)


def counts(records):
    """Count wrong pairs, trusted ones of them, pairs of objects, and missed ones."""
    wrong = [record for record in records if not is_right(record)]
    found = [record for record in records if finds_objects(record)]
    return len(wrong), sum(map(is_error, wrong)), len(found), sum(map(is_error, found))


def grouped(records, *keys):
    """Group records by what is asked of each, kinds and sides in their order."""
    order = [*KINDS, *SIDES]
    groups = {}
    for record in records:
        groups.setdefault(tuple(key(record) for key in keys), []).append(record)

    def place(name):
        return [order.index(part) if part in order else part for part in name]

    return {name: groups[name] for name in sorted(groups, key=place)}


def name_of(record):
    """Name a pair of views: kind, side, what it is made of, rows and seed."""
    kind, side, what, rows, seed = record["case"]
    where = kind if side == kind else f"{kind}, {side}"
    return f"{where}: {' '.join(map(str, what))}, {rows} rows, seed {seed}"


def describe_error(record):
    """Line on a pair that is trusted though wrong, or missed though right."""
    what = "missed" if is_right(record) else "FALSE TRUST"
    rates = f"exact {record['exact']:.3f}"
    if "same_class" in record:
        rates += f", same class {record['same_class']:.3f}"
        rates += f" (chance {record['chance']:.3f})"
    trust = f"excess {record['excess']:.3f}, trust {trust_of(record):.2f}"
    return f"{what}: {name_of(record)}: {rates}, {trust}"


def errors_of(records):
    """All errors, false trust first, the surest first."""
    errors = [record for record in records if is_error(record)]
    return sorted(errors, key=lambda r: (is_right(r), -r["excess"]))


def summary(records):
    """Lines on how well trust separates right from wrong, and on its calibration."""
    sharp = [r for r in records if finds_objects(r) or not is_right(r)]
    lines = []
    for told, these in (
        ("Pairs of checking sets", records),
        ("The same without matchings of classes only", sharp),
    ):
        area, error = auroc(these), calibration_error(these)
        area = "{:.3f} ({:.3f} to {:.3f})".format(*area) if area else "not run"
        error = "not run" if error is None else f"{error:.3f}"
        told = f"{told}, {len(these)}: AUROC {area}, calibration error {error}"
        lines.append(told)
    return lines


def size_of(record):
    """Tell the range that the rows of the smaller view lie in."""
    return next(size for size in SIZES if size[0] <= min(record["n"]) < size[1])


def size_rows(records):
    """Cells of the table of all pairs: by kind, side and size."""
    lines = []
    for (kind, side, size), these in grouped(
        records, kind_of, side_of, size_of
    ).items():
        low, high = size
        rows = f"{low:,} to {high - 1:,}" if low else f"below {high:,}"
        rows = f"from {low:,}" if size == SIZES[-1] else rows
        largest = [r["excess"] for r in these if not is_right(r)]
        lines.append(
            (
                KINDS[kind],
                side if side in SIDES[:2] else "",
                rows,
                *counts(these),
                f"{max(largest):.3f}" if largest else "",
            )
        )
    return lines


def power_rows(records):
    """Cells of the table of related pairs, and the noises of its columns."""
    related = [record for record in records if kind_of(record) == "related"]
    noises = sorted({record["case"][2][3] for record in related})
    lines = []
    for (n, columns), these in grouped(
        related, lambda r: r["case"][3], lambda r: tuple(r["case"][2][:2])
    ).items():
        cells = []
        for noise in noises:
            of_noise = [r for r in these if r["case"][2][3] == noise]
            trusted = [r["exact"] for r in of_noise if is_trusted(r)]
            exact = f", {np.mean(trusted):.2f}" if trusted else ""
            told = f"{len(trusted)} of {len(of_noise)}{exact}"
            cells.append(told if of_noise else "not run")
        lines.append((f"{n:,}", "{} and {}".format(*columns), *cells))
    return noises, lines


def draw_reliability(records, path):
    """Draw the share that is right over trust, with a dot as large as its bin."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    _, trust, right, number = zip(*reliability(records), strict=True)
    with rc_context({"svg.hashsalt": "reliability"}):  # the same file every time
        figure = Figure(figsize=(3.6, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axes.scatter(trust, right, s=10 + 6 * np.sqrt(number), clip_on=False)
        axes.set(xlabel="mean trust", ylabel="share that is right")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
