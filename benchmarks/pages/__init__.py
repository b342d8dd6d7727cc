"""Pages of the documentation whose figures come from committed results.

``python -m benchmarks.pages`` writes all of them, ``python -m benchmarks.pages study``
one. A module has the path of its page, ``PAGE``, and its text, ``page()``; where there
are pictures, ``draw()`` writes them.
"""
