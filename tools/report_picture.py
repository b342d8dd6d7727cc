"""Draw the README's picture: a report on two shuffled views of the digits.

Needs Chromium. ``python tools/report_picture.py`` writes docs/images/report.png.
"""

import subprocess
import tempfile
from pathlib import Path

import pandas as pd

from unaligned import SAVuC
from unaligned.datasets import load_digits_views, unalign

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
SIZE = "1240,1010"


def main() -> None:
    """Fit, write the report and take a picture of its beginning."""
    digits = load_digits_views()
    data = unalign([digits.Xs[0], digits.Xs[3]], digits.y, random_state=0)
    names = (digits.view_names[0], digits.view_names[3])
    views = {
        name: pd.DataFrame(X, index=[f"{name} {row}" for row in range(len(X))])
        for name, X in zip(names, data.Xs, strict=True)
    }
    model = SAVuC(10, effort="quick", random_state=0).fit(views)
    with tempfile.TemporaryDirectory() as folder:
        page = model.report(
            Path(folder) / "report.html", views, title="Two files of handwritten digits"
        )
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                f"--window-size={SIZE}",
                f"--screenshot={PICTURE}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
