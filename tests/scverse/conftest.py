"""AnnData and MuData, where they are installed."""

import warnings

import pytest


@pytest.fixture(scope="session")
def anndata():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("anndata", reason="needs the extra 'scverse'")


@pytest.fixture(scope="session")
def mudata(anndata):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mudata", reason="needs the extra 'scverse'")
