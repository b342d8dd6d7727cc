"""PAVuC as a user meets it."""

import pickle
import re
import warnings
from ast import literal_eval

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tests.conftest import make_blobs
from unaligned import PAVuC
from unaligned.datasets import load, load_digits_views, unalign
from unaligned.kernels.devices import Cores
from unaligned.metrics import clustering_scores, instance_alignment_rate
from unaligned.pavuc import estimator
from unaligned.views import check_views

FITTED = [
    "labels_",
    "view_labels_",
    "template_",
    "alignment_",
    "view_weights_",
    "anchors_",
    "projections_",
    "anchor_graphs_",
    "embedding_",
    "objective_",
    "n_iter_",
    "converged_",
    "single_view_labels_",
]


def fit(Xs, aligned=None, **parameters):
    parameters = {"n_clusters": 3, "n_init": 2, "random_state": 0, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PAVuC(**parameters).fit(Xs, aligned=aligned)


def centred(Xs):
    return [X - X.mean(axis=0) for X in Xs]


def test_fitted_attributes_have_the_promised_shapes(blobs):
    model = fit(blobs[0], n_anchors=4, latent_dim=2)
    assert all(hasattr(model, name) for name in FITTED)
    assert [labels.shape for labels in model.view_labels_] == [(60,)] * 3
    assert [labels.shape for labels in model.single_view_labels_] == [(60,)] * 3
    assert model.labels_ is model.view_labels_[0]
    assert model.anchors_.shape == (4, 2)
    assert [Q.shape for Q in model.projections_] == [(5, 2), (4, 2), (6, 2)]
    assert [G.shape for G in model.anchor_graphs_] == [(60, 4)] * 3
    assert model.embedding_.shape[0] == 60
    assert len(model.objective_) == model.n_iter_
    assert_allclose(model.view_weights_.sum(), 1)


def test_well_separated_aligned_views_are_clustered_right(blobs):
    Xs, y = blobs
    model = fit(centred(Xs), aligned="all")
    for labels in model.view_labels_:
        assert clustering_scores(y, labels)["acc"] == 1


def test_labels_follow_the_alignment(blobs):
    model = fit(blobs[0])
    t = model.template_
    for labels, rows in zip(
        model.view_labels_, model.alignment_.permutations, strict=True
    ):
        assert_array_equal(labels[rows], model.view_labels_[t])


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**16),
    ratio=st.floats(0, 1),
    k=st.integers(1, 4),
    m=st.integers(1, 8),
)
def test_what_every_fit_keeps(seed, ratio, k, m):
    Xs, y = make_blobs(n=24, seed=seed, spread=1.0)
    shuffled = unalign(Xs, y, ratio, random_state=seed)
    p = shuffled.n_aligned
    model = fit(shuffled.Xs, aligned=p, n_clusters=k, n_anchors=m, max_iter=5)
    for rows in model.alignment_.permutations:
        assert_array_equal(np.sort(rows), np.arange(24))
        assert_array_equal(rows[:p], np.arange(p))
    for G in model.anchor_graphs_:
        assert (G >= 0).all()
        assert_allclose(G.sum(axis=1), 1, atol=1e-10)
    for Z in [model.anchors_, *model.projections_]:
        gram = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
        assert_allclose(gram, np.eye(min(Z.shape)), atol=1e-10)
    for confidence in model.alignment_.confidence:
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert_array_equal(confidence[:p], np.ones(p))


@settings(max_examples=15)
@given(seed=st.integers(0, 2**16))
def test_permuting_all_views_and_the_start_permutes_the_answers(seed):
    # A strong pull keeps graph rows apart: between equal rows the first one wins, and
    # which that is does depend on the order.
    rng = np.random.RandomState(seed)
    Xs = [0.1 * rng.normal(size=(20, d)) for d in (5, 4)]
    A, G = rng.uniform(size=(3, 3)), rng.dirichlet(np.ones(3), size=20).T
    order = rng.permutation(20)
    one = fit(Xs, init=(A, G), mu=10, max_iter=3)
    other = fit([X[order] for X in Xs], init=(A, G[:, order]), mu=10, max_iter=3)
    assert all(len(np.unique(G.round(9), axis=0)) == 20 for G in one.anchor_graphs_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)
    for i in range(2):
        assert_allclose(
            one.anchor_graphs_[i][order], other.anchor_graphs_[i], atol=1e-8
        )
        # Row order[s] of the first is row s of the second.
        assert_array_equal(
            one.alignment_.permutations[i][order],
            order[other.alignment_.permutations[i]],
        )


def test_same_random_state_gives_the_same_bits(blobs):
    one, other = fit(blobs[0], random_state=3), fit(blobs[0], random_state=3)
    for name in FITTED:
        a, b = getattr(one, name), getattr(other, name)
        if name == "alignment_":
            a, b = a.permutations + a.confidence, b.permutations + b.confidence
        assert pickle.dumps(a) == pickle.dumps(b), name


@pytest.mark.parametrize("ratio", [0, 0.01, 0.1, 0.5, 1])
def test_any_share_of_known_pairs(blobs, ratio):
    Xs, y = blobs
    shuffled = unalign(centred(Xs), y, ratio, random_state=0)
    model = fit(shuffled.Xs, aligned=shuffled.n_aligned)
    t = model.template_
    found = model.alignment_
    assert_allclose(np.delete(found.known, t), shuffled.n_aligned / 60)
    assert np.isnan(np.delete(found.trust, t)).all()
    assert found.known[t] == found.trust[t] == 1
    given = sum(len(pairs) for pairs in found.trusted_pairs().values())
    assert given == 2 * shuffled.n_aligned


def test_forms_of_aligned_that_say_the_same_give_the_same(blobs):
    Xs, y = blobs
    shuffled = unalign(centred(Xs), y, 0.5, random_state=0)
    p = shuffled.n_aligned
    rows = np.column_stack([np.arange(p)] * 2)
    forms = [
        p,
        np.arange(60) < p,
        {(0, 1): rows, (1, 2): rows},
        {(0, 1): rows, ("0", "2"): rows},
    ]
    fits = [fit(shuffled.Xs, aligned=form) for form in forms]
    for other in fits[1:]:
        assert_allclose(fits[0].objective_, other.objective_)
        assert_array_equal(fits[0].labels_, other.labels_)
    assert_array_equal(fit(Xs, aligned="all").labels_, fit(Xs, aligned=60).labels_)


@pytest.mark.parametrize("parameters", [{}, {"safeguard": True}, {"align": False}])
def test_pairs_off_the_diagonal_are_kept(blobs, parameters):
    Xs, y = blobs
    shuffled = unalign(centred(Xs), y, random_state=0)
    where = [np.argsort(order)[:20] for order in shuffled.order]  # rows of objects 0…19
    pairs = {(0, 1): np.column_stack(where[:2]), (2, 1): np.column_stack(where[:0:-1])}
    alignment = fit(shuffled.Xs, aligned=pairs, **parameters).alignment_
    for i, j in [(0, 1), (1, 2), (0, 2)]:
        found = {tuple(pair) for pair in alignment.pairs(i, j)}
        assert found >= set(zip(where[i], where[j], strict=True))


def test_without_the_alignment_term_rows_stay_where_they_are(blobs):
    model = fit(blobs[0], align=False)
    for rows in model.alignment_.permutations:
        assert_array_equal(rows, np.arange(60))
    # μ has nothing to weigh then.
    assert_array_equal(model.objective_, fit(blobs[0], align=False, mu=5.0).objective_)


def test_optimal_matching_gains_no_less_than_greedy(blobs):
    gains = {}
    for matching in ("greedy", "optimal"):
        model = fit(blobs[0], matching=matching, max_iter=1)
        G, t = model.anchor_graphs_, model.template_
        gains[matching] = sum(
            np.sum(G[i][p] * G[t]) for i, p in enumerate(model.alignment_.permutations)
        )
    assert gains["optimal"] >= gains["greedy"]


def test_sparse_views_stay_sparse_and_give_the_same_answer(blobs):
    Xs = [np.where(np.abs(X) > 1, X, 0) for X in blobs[0]]
    dense, thin = fit(Xs), fit([sparse.csr_matrix(X) for X in Xs])
    assert_allclose(dense.objective_, thin.objective_, rtol=1e-8)
    assert_array_equal(dense.labels_, thin.labels_)


def test_a_very_wide_sparse_view_is_never_made_dense():
    # 4,000 × 10⁶ floats would be 32 GB, more than the test machine has.
    rng = np.random.RandomState(0)
    rows, columns = np.repeat(np.arange(4000), 10), rng.randint(10**6, size=40_000)
    X = sparse.csr_matrix((rng.uniform(size=40_000), (rows, columns)), (4000, 10**6))
    model = fit([X, sparse.csr_array(X)], max_iter=2)
    assert len(model.labels_) == 4000


def test_float32_stays_float32_and_agrees_with_float64(blobs):
    Xs = centred(blobs[0])
    single, double = (
        fit([X.astype(np.float32) for X in Xs], max_iter=3),
        fit(Xs, max_iter=3),
    )
    assert {G.dtype for G in single.anchor_graphs_} == {np.dtype(np.float32)}
    assert {G.dtype for G in double.anchor_graphs_} == {np.dtype(np.float64)}
    assert_allclose(single.objective_, double.objective_, rtol=1e-3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_and_named_views(blobs, library):
    frames = pytest.importorskip(library)
    names = ["image", "text", "sound"]
    named = {
        name: frames.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
        for name, X in zip(names, blobs[0], strict=True)
    }
    model = fit(named)
    assert model.view_names_in_ == names
    assert_array_equal(model.labels_, fit(blobs[0]).labels_)
    assert_array_equal(
        model.predict(named["text"], view="text"), model.predict(blobs[0][1], view=1)
    )


def test_one_array_is_cut_by_view_sizes(blobs):
    Xs = blobs[0]
    together = fit(np.hstack(Xs), view_sizes=[5, 4, 6])
    assert_array_equal(together.labels_, fit(Xs).labels_)
    assert together.n_features_in_ == 15
    assert together.n_features_per_view_ == [5, 4, 6]


def test_refitting_forgets_the_last_fit(blobs):
    model = fit(blobs[0])
    first = model.single_view_labels_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit([X[:30] for X in blobs[0]])
    assert len(first[0]) == 60
    assert len(model.single_view_labels_[0]) == 30


def test_predict_agrees_with_the_labels_of_the_template(blobs):
    model = fit(centred(blobs[0]), aligned="all")
    t = model.template_
    assert_array_equal(
        model.predict(centred(blobs[0])[t], view=t), model.view_labels_[t]
    )


def test_predict_labels_new_rows_of_every_view():
    Xs, y = make_blobs(n=120)
    Xs = centred(Xs)
    model = fit([X[:90] for X in Xs], aligned="all")
    for i, X in enumerate(Xs):
        assert clustering_scores(y[90:], model.predict(X[90:], view=i))["acc"] == 1


def test_predict_takes_sparse_rows(blobs):
    model = fit(blobs[0])
    X = blobs[0][1]
    assert_array_equal(
        model.predict(sparse.csr_array(X), view=1), model.predict(X, view=1)
    )


def test_predict_complains_before_fit_and_about_the_view(blobs):
    with pytest.raises(NotFittedError):
        PAVuC().predict(blobs[0][0])
    model = fit(blobs[0])
    with pytest.raises(ValueError, match="view=3 is none of the 3 views"):
        model.predict(blobs[0][0], view=3)
    with pytest.raises(ValueError, match="X has 5 columns, but view 1 had 4"):
        model.predict(blobs[0][0], view=1)
    with pytest.raises(ValueError, match="ONE view"):
        model.predict(blobs[0])


def test_unconverged_fits_name_the_knobs(blobs):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .* Raise max_iter or tol"):
        PAVuC(3, max_iter=2, random_state=0).fit(blobs[0])


def test_verbose_prints_a_line_per_iteration(blobs, capsys):
    fit(blobs[0], max_iter=3, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"[PAVuC] iteration {i}" for i in (1, 2, 3)
    ]


def one_nan(shape):
    array = np.ones(shape)
    array[1, 2] = np.nan
    return array


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "'n_clusters' parameter of PAVuC .* Got 0"),
        ({"alpha": 1.0}, r"'alpha' parameter of PAVuC .* \(1.0, inf\). Got 1.0"),
        ({"mu": -0.1}, "'mu' parameter of PAVuC .* Got -0.1"),
        ({"matching": "hungarian"}, "'matching' .*'greedy'.* Got 'hungarian'"),
        ({"init": "best"}, "'init' .*'random'.* Got 'best'"),
        ({"device": "tpu"}, "'device' .*'cpu'.* Got 'tpu'"),
        ({"init": (np.ones((3, 3)),)}, "init has 1 parts"),
        ({"init": (np.ones((3, 3)), np.ones((3, 9)))}, r"shapes \(3, 3\) and \(3, 9\)"),
        (
            {"init": (np.ones((3, 2)), np.ones((3, 60)))},
            r"shapes \(3, 2\) and \(3, 60\)",
        ),
        ({"init": (1.0, np.ones((3, 60)))}, r"shapes \(\) and \(3, 60\)"),
        ({"init": (np.ones((3, 2)), np.ones((2, 60))), "n_anchors": 3}, "n_anchors=3"),
        (
            {"init": (np.ones((3, 2)), np.ones((2, 60))), "latent_dim": 2},
            "latent_dim=2",
        ),
        ({"init": (np.ones((3, 3)), one_nan((3, 60)))}, "NaN"),
        ({"init": (one_nan((3, 3)), np.ones((3, 60)))}, "NaN"),
        ({"n_clusters": 61}, "n_clusters=61 is more than the n_samples=60 rows"),
    ],
)
def test_bad_parameters_are_named(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(blobs[0], **parameters)


def test_defaults_are_the_documented_ones():
    documented = re.findall(r"(\w+) : .*default=(.+)", PAVuC.__doc__)
    values = {name: literal_eval(value) for name, value in documented}
    assert values == PAVuC().get_params()


def test_no_fit_converges_before_its_third_iteration(blobs):
    assert fit(blobs[0], tol=1e9).n_iter_ == 3


@pytest.mark.parametrize(("n_views", "matchings"), [(1, 0), (3, 2), (9, 4)])
def test_memory_is_that_of_four_graphs_a_view_and_of_matchings(
    monkeypatch, n_views, matchings
):
    monkeypatch.setattr(estimator, "Cores", lambda: Cores(4))  # so many at a time
    model = PAVuC(n_anchors=7)
    views = check_views([np.ones((500, 2), dtype=np.float32)] * n_views)
    graph = np.ones((500, 7), dtype=np.float32).nbytes
    expected = 4 * n_views * graph + matchings * 500 * 7 * estimator.BYTES_OF_MATCHING
    assert model._memory_need(views) == expected
    model = PAVuC()
    model.n_clusters_ = 7  # which is how many anchors there are if nobody says
    assert model._memory_need(views) == expected


def test_the_embedding_is_kept_once(blobs):
    model = fit(blobs[0])
    rows = [len(array) for array in model._embedding]
    assert rows == [0, model.anchor_graphs_[0].shape[1]]


def test_init_fixes_anchors_and_latent_dimension(blobs):
    rng = np.random.RandomState(0)
    model = fit(blobs[0], init=(rng.uniform(size=(2, 7)), rng.uniform(size=(7, 60))))
    assert model.anchors_.shape == (7, 2)


class TestHardViews:
    """Input that is odd but fine."""

    def check(self, Xs, **parameters):
        model = fit(Xs, **parameters)
        assert np.isfinite(model.objective_).all()
        assert all(np.isfinite(G).all() for G in model.anchor_graphs_)
        assert np.isfinite(model.embedding_).all()

    def test_constant_columns_and_an_all_zero_view(self, blobs):
        Xs = [np.hstack([blobs[0][0], np.ones((60, 2))]), np.zeros((60, 3))]
        self.check(Xs)
        self.check(Xs, safeguard=True)

    def test_duplicate_rows(self, blobs):
        self.check([np.repeat(X[:6], 10, axis=0) for X in blobs[0]])

    def test_identical_rows(self):
        self.check([np.ones((20, 3)), np.ones((20, 2))])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("scales", [(1e-12, 1e12, 1.0), (1e12,) * 3, (1e-12,) * 3])
    @pytest.mark.parametrize("alpha", [1.1, 2.0])
    def test_extreme_scales(self, blobs, scales, dtype, alpha):
        Xs = [(s * X).astype(dtype) for s, X in zip(scales, blobs[0], strict=True)]
        self.check(Xs, alpha=alpha)

    def test_integers_booleans_and_half_precision(self, blobs):
        X = blobs[0][0]
        self.check([X.round().astype(int), X > 0, X.astype(np.float16)])

    def test_a_single_view_and_a_single_column(self, blobs):
        self.check([blobs[0][0]])
        self.check(blobs[0][0])
        self.check([blobs[0][0][:, :1], blobs[0][1][:, :1]])

    def test_as_many_clusters_as_rows_and_one_cluster(self, blobs):
        Xs = [X[:5] for X in blobs[0]]
        self.check(Xs, n_clusters=5)
        self.check(Xs, n_clusters=1)

    def test_one_row(self):
        self.check([np.ones((1, 2)), np.ones((1, 3))], n_clusters=1)


def test_clone_keeps_parameters_and_pickle_keeps_answers(blobs):
    model = fit(blobs[0], mu=0.2)
    assert clone(model).mu == 0.2
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(blobs[0][0]), model.predict(blobs[0][0]))


def test_callbacks_see_a_usable_estimator_and_can_stop(blobs):
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9")

    class StopAfterTwo:
        seen = ()

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name != "iteration":
                return False
            self.seen += (fitted_estimator.predict(blobs[0][0]),)
            return len(self.seen) == 2

    callback = StopAfterTwo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopped on purpose: no ConvergenceWarning
        model = PAVuC(3, n_init=2, random_state=0).set_callbacks(callback).fit(blobs[0])
    assert model.n_iter_ == 2
    assert_array_equal(callback.seen[-1], model.predict(blobs[0][0]))
    # Looking at labels on the way changes nothing.
    assert_array_equal(model.labels_, fit(blobs[0], max_iter=2).labels_)


def test_citation_is_bibtex():
    assert PAVuC.citation.startswith("@article{")
    assert PAVuC.citation.count("{") == PAVuC.citation.count("}")


def test_the_digits_show_what_the_paper_does_not():
    """The alignment is at chance, and the labels are those of the template alone."""
    digits = load_digits_views()
    shuffled = unalign(centred(digits.Xs), digits.y, random_state=0)
    model = fit(shuffled.Xs, n_clusters=10)
    t = model.template_
    y = shuffled.ys[t]
    fused = clustering_scores(y, model.view_labels_[t])["acc"]
    alone = clustering_scores(y, model.single_view_labels_[t])["acc"]
    assert fused > 0.5
    assert abs(fused - alone) < 0.05


@pytest.mark.parametrize(
    ("name", "parameters", "published"),
    [
        ("ProteinFold", {"mu": 1e-3, "alpha": 2.0}, (33.14, 40.70, 17.98)),
        ("Wiki", {"mu": 0.1, "alpha": 1.5}, (53.41, 52.78, 47.64)),
    ],
)
def test_table_4_with_the_released_settings(shared, name, parameters, published):
    data = load(name, shared)
    k = len(np.unique(data.y))
    scores = []
    for seed in range(5):
        shuffled = unalign(data.Xs, data.y, random_state=seed)
        model = fit(
            shuffled.Xs, n_clusters=k, n_init=20, random_state=seed, **parameters
        )
        t = model.template_
        found = clustering_scores(shuffled.ys[t], model.view_labels_[t])
        scores.append([100 * found[key] for key in ("acc", "nmi", "f")])
    assert (np.mean(scores, axis=0) >= np.array(published) - 2).all()


def test_predict_on_the_template_of_wiki(shared):
    wiki = load("Wiki", shared)
    shuffled = unalign(wiki.Xs, wiki.y, random_state=0)
    model = fit(shuffled.Xs, n_clusters=10)
    t = model.template_
    agreement = np.mean(model.predict(shuffled.Xs[t], view=t) == model.view_labels_[t])
    assert agreement >= 0.95


def test_reuters_in_its_original_spaces(shared):
    reuters = load("Reuters-600", shared)
    assert max(X.shape[1] for X in reuters.Xs) == 34_251
    model = fit(reuters.Xs, n_clusters=6, max_iter=5)
    assert len(model.labels_) == 600


def test_a_start_from_structure_takes_over_what_align_finds():
    digits = load_digits_views()
    views = [X[:300] - X[:300].mean(axis=0) for X in (digits.Xs[0], digits.Xs[3])]
    data = unalign(views, random_state=0)
    model = PAVuC(10, init="structure", max_iter=5, random_state=0).fit(data.Xs)
    found = model.alignment_
    other = 1 - found.template
    assert found.verdict == ["objects", "objects"]
    assert found.trust[other] > 0.9
    assert found.known[other] == 0
    rows = found.permutations[other]
    order = data.order
    assert instance_alignment_rate(order[other], order[found.template], rows) > 0.9
