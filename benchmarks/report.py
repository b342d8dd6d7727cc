"""The report of large fits: time to write, size, time to open and to answer a hover.

``python -m benchmarks.report`` needs the extras ``report`` and ``browser``, chromium
and chromedriver.
"""

import argparse
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unaligned import PAVuC

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)

# From the move of the pointer to the frame that shows the answer.
HOVER = """
const [n, done] = arguments;
(async () => {
  const canvases = [...document.querySelectorAll(".points")];
  const times = [];
  for (let i = 0; i < n; i++) {
    const canvas = canvases[i % canvases.length];
    const box = canvas.getBoundingClientRect();
    const clientX = box.left + box.width * (0.2 + 0.6 * ((i * 0.618) % 1));
    const clientY = box.top + box.height * (0.2 + 0.6 * ((i * 0.755) % 1));
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    times.push(performance.now() - start);
  }
  done(times);
})();
"""

# From moving the slider to the frame that shows the dimmed rows and the shorter table.
SLIDE = """
const done = arguments[0];
const slider = document.getElementById("confidence");
const start = performance.now();
slider.value = 50;
slider.dispatchEvent(new Event("input"));
requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
"""


def fit(n):
    """Three views of clustered rows, a quarter of them with known partners."""
    rng = np.random.RandomState(0)
    y = rng.randint(10, size=n)
    Xs = [
        (rng.normal(size=(10, d))[y] + rng.normal(size=(n, d))).astype(np.float32)
        for d in (64, 128, 32)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PAVuC(10, max_iter=5, n_init=1, random_state=0).fit(Xs, aligned=n // 4)
    return model, Xs


def open_browser(folder):
    """Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options, service)


def measure(n, browser, folder):
    """Print a line about n rows."""
    model, Xs = fit(n)
    path = Path(folder) / f"{n}.html"
    start = time.perf_counter()
    model.report(path, Xs, ids=[[f"sample-{i:06d}" for i in range(n)]] * 3)
    written = time.perf_counter() - start
    start = time.perf_counter()
    browser.get(path.as_uri())
    opened = time.perf_counter() - start
    browser.execute_script("document.getElementById('map-grid').scrollIntoView()")
    browser.set_script_timeout(120)
    hover = np.array(browser.execute_async_script(HOVER, 120))
    slide = browser.execute_async_script(SLIDE)
    print(
        f"{n:8,d} {written:8.1f} {path.stat().st_size / 1e6:7.2f} {opened:8.2f} "
        f"{np.median(hover):11.0f} {hover.max():9.0f} {slide:9.0f}",
        flush=True,
    )


def main():
    """Measure reports of growing size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    rows = parser.parse_args().rows
    print(
        "three views; milliseconds from the pointer's move to the frame that shows it"
    )
    print("    rows  write s      MB   open s  hover, half  hover, max  slide ms")
    with tempfile.TemporaryDirectory() as folder:
        browser = open_browser(Path(folder) / "chromium")
        try:
            for n in rows:
                measure(n, browser, folder)
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
