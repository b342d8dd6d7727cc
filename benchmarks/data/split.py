"""Which datasets may set constants of SAVuC, and which only check them.

Drawn at random by dataset, not by pair of views: families of datasets (those of one
collection are one family) were sorted by name, permuted by
``numpy.random.RandomState(0)``, and dealt out in turn.

Most constants are older than this split: temperatures, directions and shares were set
by looking at labels of sets of either side, and the design of the test in `savuc.trust`
was tried on pairs of both, the turning point and the sharpness of trust were then set
between wrong and right pairs of the development sets and generated pairs.
"""

__all__ = ["CHECKING", "DEVELOPMENT", "side_of"]

DEVELOPMENT = (
    "3Sources",
    "BBC4view",
    "BBCSport",
    "CCV",
    "CIFAR10-10k-recon",
    "CITEseq-1000",
    "Caltech101-20-recon",
    "Cora",
    "Movies",
    "NGs",
    "ORL",
    "ProteinFold",
    "WebKB",
    "digits",
)
CHECKING = (
    "100Leaves",
    "BDGP",
    "Handwritten",
    "LandUse-21",
    "MSRC-v1",
    "PBMC-2407",
    "PIE-face",
    "Reuters-1200",
    "Reuters-600",
    "Wiki",
    "scGEM",
    "sciCAR-A549",
)


def side_of(name: str) -> str:
    """Tell the side of a dataset."""
    return "development" if name in DEVELOPMENT else "checking"
