"""Partitions of rows: features to make them from, scores, and labels for new rows.

Nothing here knows an estimator or what views have to do with each other.
"""
