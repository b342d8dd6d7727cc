"""Disclosure: how many rows of an anonymised table can be found again."""

from unaligned.disclosure.auditing import audit
from unaligned.disclosure.findings import Audit, ColumnRisk, Level

__all__ = ["Audit", "ColumnRisk", "Level", "audit"]
