"""Options of `unaligned.prepare`; the first value of each is the default."""

__all__ = ["CATEGORICAL", "DATES", "IMPUTE", "TRANSFORM"]

IMPUTE = ("low-rank", "iterative", "none")
CATEGORICAL = ("onehot", "drop")
DATES = ("drop", "number")
TRANSFORM = ("auto", "lsi", "none")
