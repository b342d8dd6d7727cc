"""Sphinx configuration."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from unaligned import __version__

project = "unaligned"
author = "The unaligned developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "unaligned"
html_static_path = ["_static"]
html_css_files = ["cards.css"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
}
warnings.simplefilter("ignore", ConvergenceWarning)
