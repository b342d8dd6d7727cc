"""Readers of the files people have: one module per format, none of which runs code."""
