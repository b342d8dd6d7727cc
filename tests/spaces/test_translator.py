"""SpaceTranslator, on spaces whose map is known."""

import numpy as np
import pytest

from unaligned.spaces import SpaceTranslator


def make_spaces(n, widths=(30, 20), n_latent=12, noise=0.3, seed=0):
    """Draw objects in clusters of unequal size, seen through two linear maps."""
    rng = np.random.RandomState(seed)
    share = 1 / np.arange(1, 16)
    of = rng.choice(15, size=n, p=share / share.sum())
    latent = 1.5 * rng.normal(size=(15, n_latent))[of] + rng.normal(size=(n, n_latent))
    maps = [rng.normal(size=(n_latent, d)) / np.sqrt(n_latent) for d in widths]
    return [
        (latent @ W + noise * rng.normal(size=(n, W.shape[1]))).astype(np.float32)
        for W in maps
    ]


@pytest.fixture(scope="module")
def fitted():
    """Map between 500 shuffled rows each, of which 450 are the same objects."""
    one, other = make_spaces(650)
    order = 50 + np.random.RandomState(1).permutation(500)
    spaces = SpaceTranslator(effort="quick", random_state=0)
    return spaces.fit(one[:500], other[order]), one, other, order


def test_new_vectors_are_translated_and_found(fitted):
    spaces, one, other, order = fitted
    assert spaces.alignment_.verdict == ["objects", "objects"]
    moved = spaces.translate(one[500:])
    assert moved.dtype == np.float32
    error = np.mean((moved - other[500:]) ** 2) / other[500:].var()
    assert error < 0.35
    assert spaces.quality_ == pytest.approx(1 - error, abs=0.15)
    found = spaces.nearest(one[500:550], n_neighbors=3)
    assert found.rows.shape == found.similarity.shape == (50, 3)
    assert found.similarity.max() <= 1 + 1e-5
    hit = order[found.rows[:, 0]] == np.arange(500, 550)
    assert hit.mean() > 0.7
    assert found.confidence.mean() == pytest.approx(hit.mean(), abs=0.2)
    assert np.median(found.confidence[hit]) >= found.confidence[~hit].mean()


def test_vectors_unlike_the_data_have_low_confidence(fitted):
    spaces, one, _, _ = fitted
    rng = np.random.RandomState(3)
    new, center = one[500:550], one[:500].mean(axis=0)
    strange = {
        "noise": center + one.std() * rng.normal(size=new.shape),
        "far away": center + 10 * (new - center),
        "other columns": new[:, rng.permutation(new.shape[1])],
        "the mean": np.tile(center, (3, 1)),
    }
    usual = spaces.nearest(new)
    assert usual.confidence.mean() > 0.8
    assert np.mean(usual.typical < 0.05) < 0.2
    for name, vectors in strange.items():
        found = spaces.nearest(vectors.astype(np.float32))
        assert found.confidence.mean() < 0.25, name
        assert np.median(found.typical) < 0.02, name


def test_vectors_without_a_counterpart_have_less_confidence():
    one, other = make_spaces(700, widths=(80, 60), n_latent=20)
    pairs = np.column_stack([np.arange(500)] * 2)
    spaces = SpaceTranslator(effort="quick", random_state=0)
    spaces.fit(one[:500], other[:600], aligned=pairs)
    there, gone = spaces.nearest(one[500:600]), spaces.nearest(one[600:])
    hit = there.rows[:, 0] == np.arange(500, 600)
    assert there.confidence.mean() == pytest.approx(hit.mean(), abs=0.1)
    assert gone.confidence.mean() < there.confidence.mean() / 2


def test_known_pairs_are_enough(fitted):
    _, one, other, _ = fitted
    rng = np.random.RandomState(5)
    noise = rng.normal(size=(200, 40)).astype(np.float32)
    noise[:60, :20] += 3 * other[:60]
    pairs = np.column_stack([np.arange(60), np.arange(60)])
    spaces = SpaceTranslator(effort="quick", random_state=0)
    spaces.fit(one[:90], noise, aligned=pairs)
    assert spaces.n_pairs_ >= 60
    assert spaces.translate(one[:2]).shape == (2, 40)


def test_refused_spaces_translate_nothing():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(60, 12)), rng.normal(size=(70, 10))
    spaces = SpaceTranslator(effort="quick", random_state=0).fit(one, other)
    assert spaces.n_pairs_ == 0
    with pytest.raises(ValueError, match="could not be aligned"):
        spaces.translate(one)


def test_complaints(fitted):
    spaces, one, _, _ = fitted
    with pytest.raises(ValueError, match="X has 3 columns"):
        spaces.nearest(one[:, :3])
    with pytest.raises(ValueError, match="n_neighbors=501"):
        spaces.nearest(one[:2], 501)
    with pytest.raises(ValueError, match="effort"):
        SpaceTranslator(effort="lazy").fit(one, one)
