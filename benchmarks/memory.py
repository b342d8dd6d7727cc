"""How much memory a fit takes, beside what its estimator asks for beforehand.

    python -m benchmarks.memory                 # all estimators
    python -m benchmarks.memory PAVuC LMVSC

Every fit is a process of its own, and what it takes is counted from where the views are
there and a small fit has compiled what there is to compile. An estimate within a factor
of two of what was measured is what we ask for.
"""

import argparse
import multiprocessing
import warnings

from benchmarks.data.sizes import Size, make_views
from unaligned.benchmark.memory import forget_peak, memory_bytes, peak_bytes
from unaligned.estimators import ESTIMATORS, estimator_named

MEGABYTE = 1e6
SIZES = {
    "many rows": Size(100_000, (48, 32), 10, 10),
    "wide": Size(10_000, (1024, 512), 10, 10),
    "many clusters": Size(40_000, (48, 32), 40, 40),
}
SHORT = Size(20_000, (48, 32), 10, 10)
FEWER = {  # what takes n × n, or minutes
    "AEVC": {name: SIZES[name] for name in ("many rows", "wide")},
    "UPMGCSM": {"fewer rows": Size(2_000, (48, 32), 10, 10)},
    "Rosetta": {"fewer rows": Size(4_000, (48, 32), 10, 10)},
    "SCOT": {"fewer rows": Size(1_000, (48, 32), 10, 10)},
    "SAVuC": {"fewer rows": SHORT, "wide": SIZES["wide"]},
    "VuCG": {"fewer rows": SHORT, "wide": SIZES["wide"]},
    "PVC": {"few rows": Size(6_000, (48, 32), 10, 10)},
    "MvCLN": {"few rows": Size(6_000, (48, 32), 10, 10)},
    "SURE": {"few rows": Size(6_000, (48, 32), 10, 10)},
    "SMILE": {"few rows": Size(6_000, (48, 32), 10, 10)},
    "CPMN": {"few rows": Size(6_000, (48, 32), 10, 10)},
}
SETTINGS = {
    "PVC": {
        "pretrain_epochs": 1,
        "align_epochs": 1,
        "finetune_epochs": 1,
        "assign_steps": 1,
    },
    "MvCLN": {"epochs": 1},
    "SURE": {"epochs": 1},
    "SMILE": {"epochs": 1},
    "CPMN": {"graph_epochs": 1, "prototype_epochs": 1},
    "SAVuC": {"effort": "quick"},
    "SCOT": {"epsilon": 0.1},
    "VuCG": {"matching": "greedy"},
    "CMVNMF": {"warm_up": 1},
}


def build(name, k):
    """Make an estimator that takes little time, and all the memory it ever does."""
    cls = estimator_named(name)
    model = cls(k, random_state=0, **SETTINGS.get(name, {}))
    parameters = model.get_params()
    quick = {"n_init": 1, "max_iter": 2, "tol": 0}
    return model.set_params(**{p: quick[p] for p in quick if p in parameters})


def measure(name, size, answer):
    """Estimate and growth of one fit, in bytes."""
    warnings.simplefilter("ignore")
    pairs = 100 if name in ("PVC", "MvCLN", "SURE") else None
    small = make_views(Size(5000 if name == "PAVuC" else 300, size.widths, 5, 5))
    build(name, 5).fit(small, aligned=pairs)
    views = make_views(size)
    model, asked = build(name, size.k), []
    ask = type(model)._memory_need
    type(model)._memory_need = lambda self, views: asked.append(ask(self, views)) or 0
    forget_peak()
    before = memory_bytes()
    model.fit(views, aligned=pairs)
    answer.put((asked[0], peak_bytes() - before, sum(X.nbytes for X in views)))


def main():
    """Print a line for every estimator and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*ESTIMATORS])
    names = parser.parse_args().names
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["unaligned.benchmark.preload"])
    print("| estimator | size | views, MB | estimate, MB | measured, MB | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        for title, size in FEWER.get(name, SIZES).items():
            answer = context.Queue()
            process = context.Process(target=measure, args=(name, size, answer))
            process.start()
            asked, grown, of_views = answer.get()
            process.join()
            cells = (f"{n / MEGABYTE:.0f}" for n in (of_views, asked, grown))
            ratio = f"{asked / grown:.2f}"
            print(f"| {name} | {title} | {' | '.join(cells)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
