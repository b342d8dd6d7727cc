"""The methods that the paper compares with, and rivals since, on PAVuC's contract."""

from unaligned.baselines.aevc import AEVC
from unaligned.baselines.camvc import CAMVC
from unaligned.baselines.cmvnmf import CMVNMF
from unaligned.baselines.cpmn import CPMN
from unaligned.baselines.fdagf import FDAGF
from unaligned.baselines.fmvacc import FMVACC
from unaligned.baselines.fpmvscag import FPMVSCAG
from unaligned.baselines.lmvsc import LMVSC
from unaligned.baselines.mvcln import MvCLN
from unaligned.baselines.pvc import PVC
from unaligned.baselines.rcagl import RCAGL
from unaligned.baselines.rosetta import Rosetta
from unaligned.baselines.scot import SCOT
from unaligned.baselines.smile import SMILE
from unaligned.baselines.sure import SURE
from unaligned.baselines.upmgcsm import UPMGCSM
from unaligned.baselines.vucg import VuCG

__all__ = [  # noqa: RUF022 (sorted by character, as the tests ask)
    "AEVC",
    "CAMVC",
    "CMVNMF",
    "CPMN",
    "FDAGF",
    "FMVACC",
    "FPMVSCAG",
    "LMVSC",
    "MvCLN",
    "PVC",
    "RCAGL",
    "Rosetta",
    "SCOT",
    "SMILE",
    "SURE",
    "UPMGCSM",
    "VuCG",
]
