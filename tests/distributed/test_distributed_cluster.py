"""Real clusters: worker processes, and what happens when one of them dies."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partly_shared import partly_shared
from same_fit import assert_same_fit, fit

import unaligned
from unaligned.datasets import unalign
from unaligned.distributed import PAVuC, SAVuC, align, open_views

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
dask = pytest.importorskip("dask")

pytestmark = [
    pytest.mark.heavy,
    # Clusters warn about ports, slow nodes and open sockets as they please.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, and a nanny each to bring them back."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def wide_views(tmp_path_factory):
    """Views of more than one part even by the standards of the worker processes."""
    rng = np.random.RandomState(0)
    y = rng.randint(4, size=3000)
    widths = (2048, 3000)
    Xs = [rng.normal(size=(4, d))[y] + 3 * rng.normal(size=(3000, d)) for d in widths]
    Xs = [X.astype(np.float32) for X in unalign(Xs, random_state=0).Xs]
    folder = tmp_path_factory.mktemp("wide")
    for i, X in enumerate(Xs):
        np.save(folder / f"{i}.npy", X)
    parameters = {"n_clusters": 4, "max_iter": 4}
    return Xs, folder, parameters, fit(unaligned.PAVuC, Xs, **parameters)


def test_a_cluster_gives_the_bits_of_memory(cluster, wide_views):
    _, folder, parameters, expected = wide_views
    views = open_views([folder / "0.npy", folder / "1.npy"], chunks=1500)
    assert [X.numblocks[0] for X in views] == [2, 3]
    found = fit(PAVuC, views, **parameters)
    assert_same_fit(found, expected, graph_gap=0)


def test_a_killed_worker_changes_nothing(cluster, wide_views, tmp_path):
    _, folder, parameters, expected = wide_views
    views = open_views([folder / "0.npy", folder / "1.npy"], chunks=1500)
    before, parent, killed = cluster.run(os.getpid), os.getpid(), tmp_path / "killed"

    def die_at_the_seventh_block(block):  # which is in the fourth pass
        (tmp_path / f"read-{os.urandom(8).hex()}").touch()
        if len(list(tmp_path.glob("read-*"))) == 7 and not killed.exists():
            assert os.getpid() != parent
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    views[0] = views[0].map_blocks(die_at_the_seventh_block, meta=views[0]._meta)
    found = fit(PAVuC, views, **parameters)
    assert int(killed.read_text()) in before.values()
    cluster.wait_for_workers(2)
    assert int(killed.read_text()) not in cluster.run(os.getpid).values()
    assert_same_fit(found, expected, graph_gap=0)


def test_buckets_are_matched_on_the_cluster(cluster, wide_views):
    _, folder, parameters, expected = wide_views
    views = open_views([folder / "0.npy", folder / "1.npy"])
    with pytest.warns(UserWarning, match="within buckets"):
        found = fit(PAVuC, views, matching_memory="100 kB", **parameters)
    for rows in found.alignment_.permutations:
        assert_array_equal(np.sort(rows), np.arange(3000))
    assert_allclose(found.objective_, expected.objective_, rtol=0.02)
    assert np.all(np.abs(found.matching_loss_) < 0.02)
    assert found.matching_loss_.any()


@pytest.fixture(scope="module")
def shared_files(tmp_path_factory):
    """Views with rows that have no partner, and their alignment in this process."""
    folder = tmp_path_factory.mktemp("shared")
    for i, X in enumerate(partly_shared()[0]):
        np.save(folder / f"{i}.npy", X)
    paths = [folder / "0.npy", folder / "1.npy"]
    with dask.config.set(scheduler="threads"):
        return paths, align(open_views(paths), effort="quick", random_state=0)


def test_a_killed_worker_changes_no_alignment(cluster, shared_files, tmp_path):
    paths, expected = shared_files
    views, parent = open_views(paths, chunks=100), os.getpid()
    before, killed = cluster.run(os.getpid), tmp_path / "killed"

    def die_at_the_third_read(block):  # of each block: in the third pass
        (tmp_path / f"read-{os.urandom(8).hex()}").touch()
        if len(list(tmp_path.glob("read-*"))) == 3 and not killed.exists():
            assert os.getpid() != parent
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    views[0] = views[0].map_blocks(die_at_the_third_read, meta=views[0]._meta)
    found = align(views, effort="quick", random_state=0)
    assert int(killed.read_text()) in before.values()
    assert found.verdict == ["objects", "objects"]
    assert_array_equal(found.permutations[1], expected.permutations[1])
    assert_array_equal(found.confidence[1], expected.confidence[1])


def test_labels_are_computed_on_the_cluster(cluster, shared_files):
    paths, expected = shared_files
    model = SAVuC(5, effort="quick", random_state=0).fit(open_views(paths))
    assert model.alignment_.verdict == expected.verdict
    labels = [lazy.compute() for lazy in model.view_labels_]
    rows = np.flatnonzero(model.alignment_.confidence[1] > 0.9)
    partners = model.alignment_.permutations[1][rows]
    assert np.mean(labels[0][rows] == labels[1][partners]) > 0.9
