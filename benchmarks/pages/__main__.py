"""Write pages of the documentation: ``python -m benchmarks.pages [name ...]``."""

import argparse
from importlib import import_module

PAGES = (
    "audit",
    "bridge",
    "cells",
    "choosing",
    "first_hour",
    "fresh",
    "methods",
    "reproduction",
    "rivals",
    "savuc_clusters",
    "scaling",
    "spaces",
    "study",
)


def main():
    """Write the pages that are named, or all, with their pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(PAGES))
    for name in parser.parse_args().names or PAGES:
        made = import_module(f"benchmarks.pages.{name}")
        made.PAGE.write_text(made.page(), encoding="utf-8")
        if hasattr(made, "draw"):
            made.draw()


if __name__ == "__main__":
    main()
