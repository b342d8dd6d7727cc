"""Results that were never run, for tests of what is made of them."""

from unaligned.benchmark.cells import Results
from unaligned.benchmark.summary import Case

WIKI = Case("Wiki")
RELEASED = {"alpha": 1.5, "mu": 0.1, "anchors_per_cluster": 1}


def add(
    results,
    case,
    method,
    setting=None,
    scores=(50.0,),
    ratio=0.0,
    kind="scores",
    **more,
):
    """Add a record for every shuffle; ``scores`` are their ACCs."""
    for shuffle, acc in enumerate(scores):
        cell = case.cell(
            method, setting or {}, ratio=ratio, shuffle=shuffle, measure=kind
        )
        found = {
            "status": "done",
            "acc": acc,
            "nmi": acc - 10,
            "f": acc - 20,
            "label_free": 0.5,
            "same_class": 11.0,
            "by_chance": 10.0,
            "seconds": 1.5,
            "cpu_seconds": 1.2,
            "grown_mb": 8.0,
            "wall": 2.0,
            "at": "2026-01-02T03:04:05+00:00",
        }
        results.add(cell.record() | found | more)


def add_failure(
    results, case, method, setting=None, status="time-out", shuffle=0, **more
):
    """Add a record of a cell that did not end well."""
    cell = case.cell(method, setting or {}, shuffle=shuffle, **more)
    reason = {"status": status, "reason": "not done", "limit": 600.0}
    results.add(cell.record() | reason)


def add_rivals(results):
    """Add halves and rivals of two views."""
    two = Case("Wiki", views=(0, 1))
    refused = {"verdict": "none", "trust": 0.1}
    untested = {"verdict": "untested", "trust": None, "foscttm": 0.1, "placed": 100}
    add(results, two, "SAVuC", {"effort": "normal"}, (0, 0), kind="halves", **refused)
    add_failure(results, two, "SCOT", measure="halves")
    for shuffle, top1 in enumerate((30.0, 50.0)):
        cell = two.cell("Rosetta", {}, shuffle=shuffle, measure="halves")
        found = {"status": "done", "top1": top1, "cpu_seconds": 1.0, **untested}
        results.add(cell.record() | found)
    found = {"joint_floor": 30.0, "same_object": 1.0, "kind": "rivals"}
    for ratio in (0.0, 0.5):
        ours = {"joint_acc": 70.0, "verdict": "objects", "trust": 1.0, **found}
        add(results, two, "SAVuC", {"effort": "normal"}, (0, 0), ratio, **ours)
    add(results, two, "Rosetta", {}, (0, 0), joint_acc=40.0, **untested, **found)


def paper_like():
    """A bit of everything that the page shows."""
    results = Results()
    results.add_environment("e1", {"python": "3.11", "numpy": "2.4"})
    alone = {"template_alone": {"acc": 53.0, "nmi": 52.0, "f": 47.0}}
    add(results, WIKI, "PAVuC", RELEASED, (53.0, 54.0), **alone)
    for mu in (1e-3, 1e-2, 1e-1):
        for alpha in (1.1, 1.5):
            setting = RELEASED | {"alpha": alpha, "mu": mu}
            if setting != RELEASED:
                add(results, WIKI, "PAVuC", setting, (40 + 10 * alpha,), **alone)
    ablation = {"alpha": 1.5, "anchors_per_cluster": 1}
    first = {"first_view": {"acc": 12.9, "nmi": 1.0, "f": 10.0}}
    add(results, WIKI, "NPA-VuC", ablation, (23.0, 24.0), **first)
    for ratio, acc in ((0.0, 55.0), (0.5, 60.0)):
        joint = {
            "joint": {"acc": acc, "nmi": 40.0, "floor_acc": 20.0, "floor_nmi": 9.0}
        }
        effort = {"effort": "normal"}
        add(results, WIKI, "SAVuC", effort, (55.0, 56.0), ratio=ratio, **joint)
    for view, (acc, judged) in enumerate([(18.0, 0.9), (56.0, 0.6)]):
        add(results, WIKI, "single view", {"view": view}, (acc,) * 2, label_free=judged)
    add(results, WIKI, "CMVNMF", {"beta": 1.0}, (35.0, 36.0), same_class=None)
    add_failure(results, WIKI, "UPMGCSM", status="out of memory")
    for ratio in (0.5, 1.0):
        add(results, WIKI, "PAVuC", RELEASED, (54.0, 58.0), ratio=ratio)
    for measure, found in {
        "trace": {"objective": [9.0, 7.0, 8.0], "acc": [1.0, 2, 3], "nmi": [3.0, 2, 1]},
        "map": [{"points": [[0.0, 1.0], [2.0, 3.0]], "classes": [0, 1]}] * 3,
    }.items():
        cell = WIKI.cell("PAVuC", RELEASED, measure=measure)
        results.add(cell.record() | {"status": "done", measure: found})
    for name, power in {"LMVSC": 1, "UPMGCSM": 3, **SPEED}.items():
        for rows in (500, 1000, 2000):
            cost = (rows / 1000) ** power
            took = {"cpu_seconds": cost, "grown_mb": 90 * cost}
            add(results, Case("synthetic", rows), name, **took)
    add_rivals(results)
    return results


SPEED = {"PAVuC in 15 iterations": 1, "plain NumPy in 15 iterations": 2}
