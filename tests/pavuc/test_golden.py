"""PAVuC against traces of the paper's authors' own program, from the same start."""

from pathlib import Path

import numpy as np
import pytest

from unaligned import PAVuC
from unaligned.datasets import load

HERE = Path(__file__).parents[1] / "golden"


def fit_trace(trace, Xs, **parameters):
    model = PAVuC(
        int(trace["k"]),
        mu=float(trace["mu"]),
        alpha=float(trace["alpha"]),
        init=(trace["A_init"], trace["G_init"]),
        random_state=0,
        **{"n_init": 1, **parameters},
    )
    return model.fit(Xs, aligned=int(trace["n_aligned"]))


def small_trace(name):
    trace = dict(np.load(HERE / f"{name}.npz", allow_pickle=False))
    n_views = sum(key.startswith("view") for key in trace)
    return trace, [trace[f"view{i}"] for i in range(n_views)]


def check_final_state(model, trace):
    np.testing.assert_allclose(model.view_weights_, trace["phi"], rtol=1e-6)
    np.testing.assert_allclose(model.anchors_.T, trace["A"], atol=1e-6)
    for i, (Q, G) in enumerate(
        zip(model.projections_, model.anchor_graphs_, strict=True)
    ):
        np.testing.assert_allclose(Q.T, trace[f"Q{i}"], atol=1e-6)
        np.testing.assert_allclose(G.T, trace[f"G{i}"], atol=1e-6)


@pytest.mark.parametrize("name", ["small_rho50", "small_rho100"])
def test_objective_and_stop_are_the_authors(name):
    trace, Xs = small_trace(name)
    model = fit_trace(trace, Xs)
    assert model.converged_
    assert model.n_iter_ == len(trace["objective"])
    np.testing.assert_allclose(model.objective_, trace["objective"], rtol=1e-12)
    check_final_state(model, trace)


@pytest.mark.parametrize(
    ("name", "n_exact", "rtol"), [("small_rho0", 4, 1e-3), ("wide_rho0", 6, 5e-3)]
)
def test_traces_with_near_ties_agree_until_the_first_one(name, n_exact, rtol):
    # After that, matchings that are equally good to rounding fall differently.
    trace, Xs = small_trace(name)
    model = fit_trace(trace, Xs)
    assert model.n_iter_ == len(trace["objective"])
    np.testing.assert_allclose(
        model.objective_[:n_exact], trace["objective"][:n_exact], rtol=1e-8
    )
    np.testing.assert_allclose(model.objective_, trace["objective"], rtol=rtol)


def test_the_template_is_the_one_the_permutations_were_made_for():
    trace, Xs = small_trace("small_rho50")
    model = fit_trace(trace, Xs)
    # The authors' list holds the template for the NEXT iteration.
    assert model.template_ == trace["template_after_iteration"][-1]
    assert (model.alignment_.permutations[model.template_] == np.arange(80)).all()


def test_wiki(shared):
    trace = dict(np.load(shared / "golden" / "wiki_rho0.npz", allow_pickle=False))
    wiki = load("Wiki", shared)
    Xs = [X[trace[f"source_index{i}"]] for i, X in enumerate(wiki.Xs)]
    model = fit_trace(trace, Xs, max_iter=len(trace["objective"]))
    np.testing.assert_allclose(model.objective_, trace["objective"], rtol=1e-9)
    for i, permutation in enumerate(model.alignment_.permutations):
        np.testing.assert_array_equal(permutation, trace[f"permutation{i}"])
    check_final_state(model, trace)
