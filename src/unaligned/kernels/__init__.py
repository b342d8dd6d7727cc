"""The mathematics that several methods share, as pure functions on arrays.

Samples are rows everywhere. Nothing here knows an estimator, prints or reads a file.
"""
