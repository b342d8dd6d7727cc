"""Where the tests find data, and views small enough for everything."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# No deadline: compilation and a busy machine make single examples slow.
settings.register_profile("unaligned", deadline=None, derandomize=True)
settings.load_profile("unaligned")

ROOT = Path(__file__).parents[1]


# Whole files, and tests, that take more than two seconds of CPU or run generated cases.
# They are named here rather than marked one by one, to be seen together.
SLOW = (
    "baselines/test_deep.py::test_classes_can_be_looked_at_without_torch",
    "baselines/test_deep.py::test_importing_the_baselines_does_not_import_torch",
    "baselines/test_scot.py::test_published_figure_on_scgem",
    "benchmark/test_study_page.py::test_page_lists_every_error",
    "cli/test_align_command.py::test_matches_of_views_that_are_aligned_apart",
    "cli/test_audit_command.py::test_or_estimated",
    "cli/test_bench.py::test_a_killed_run_loses_the_cell_in_flight_only",
    "cli/test_bench.py::test_a_run_that_is_stopped_says_how_to_go_on",
    "cli/test_cluster.py::test_a_run_that_is_stopped_leaves_nothing",
    "cli/test_demo.py::test_demo_prints_one_table_and_says_what_it_means",
    "datasets/test_download.py::test_a_killed_download_goes_on",
    "datasets/test_hostile_files.py",
    "datasets/test_read_hdf5.py::test_less_memory_than_the_worker_wants[0.3]",
    "datasets/test_read_hdf5.py::test_less_memory_than_the_worker_wants[2]",
    "disclosure/test_auditing.py::test_a_key_does_the_same_for_rows_in_another_order",
    "disclosure/test_auditing.py::test_an_estimate_is_near_the_truth[3]",
    "disclosure/test_auditing.py::test_unrelated_tables_are_no_more_than_chance",
    "faults/test_checkpoints.py::test_a_checkpoint_without_what_came_later_is_of_an_earlier_version[SAVuC",
    "faults/test_checkpoints.py::test_a_fit_that_is_stopped_says_how_to_go_on",
    "faults/test_checkpoints.py::test_an_alignment_goes_on_to_the_same_answer",
    "faults/test_kills.py",
    "faults/test_memory_refusal.py::test_a_command_that_finds_no_room_says_so[align-8",
    "faults/test_memory_refusal.py::test_a_command_that_finds_no_room_says_so[translate",
    "faults/test_memory_refusal.py::test_the_command_says_so_in_a_sentence",
    "faults/test_read_only.py::test_a_command_where_nothing_can_be_kept",
    "pavuc/test_estimator.py::test_table_4_with_the_released_settings",
    "pavuc/test_large_fits.py",
    "pavuc/test_safeguard.py::test_objective_never_rises",
    "savuc/test_align.py::test_reuters_in_two_languages",
    "savuc/test_align.py::test_settings_of_ones_own_are_an_effort",
    "savuc/test_align.py::test_views_that_belong_together_apart",
    "savuc/test_growth.py::test_growth_goes_on_from_every_milestone_to_the_same_end",
    "savuc/test_rivals.py::test_rivals_from_random_starts_are_not_as_good_as_the_truth[1]",
    "savuc/test_rivals.py::test_rivals_from_random_starts_are_not_as_good_as_the_truth[2]",
    "savuc/test_savuc.py::test_a_fit_goes_on_from_its_checkpoint_to_the_same_result",
    "savuc/test_savuc.py::test_the_same_seed_gives_the_same_labels",
    "savuc/test_search.py::test_many_rows_are_searched_more_than_once",
    "savuc/test_search.py::test_related_views_are_found_and_trusted[1]",
    "savuc/test_search.py::test_related_views_are_found_and_trusted[2]",
    "savuc/test_search.py::test_unrelated_views_are_not_trusted[1]",
    "savuc/test_search.py::test_unrelated_views_are_not_trusted[2]",
    "test_common.py::test_sklearn_checks_of_baselines",
    "test_docs.py::test_code_on_the_page_runs[docs/",
    "test_docs.py::test_pages_are_what_the_code_and_the_results_say[study]",
    "test_selection.py::test_side_by_side_gives_what_one_after_the_other_gives",
    "test_supply_chain.py::test_nothing_asks_for_the_network",
    "torture/",
)


def pytest_collection_modifyitems(items):
    """Mark slow tests."""
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(SLOW):
            item.add_marker(pytest.mark.slow)


def heed_ctrl_c() -> None:
    """Make a new process heed Ctrl-C; shells have background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real data and golden traces; users do not have it."""
    for folder in (os.environ.get("UNALIGNED_DATA"), ROOT.parent / "shared"):
        if folder and (Path(folder) / "data").is_dir():
            return Path(folder)
        if folder and (Path(folder) / "Wiki.npz").is_file():
            return Path(folder).parent
    pytest.skip("needs the project's real data: set UNALIGNED_DATA to its folder")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium without a window, driven by selenium; what it logs can be read."""
    from benchmarks.report import FLAGS

    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="needs the extra 'browser'"
    )
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver: Debian's chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    profile = f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"
    for flag in (*FLAGS, profile):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture
def blobs():
    """Three views of 60 objects in 3 well separated classes, and the classes."""
    return make_blobs()


def make_blobs(n=60, k=3, widths=(5, 4, 6), seed=0, spread=0.1):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % k
    Xs = [rng.normal(size=(k, d))[y] * 3 for d in widths]
    return [X + spread * rng.normal(size=X.shape) for X in Xs], y


def no_gpu():
    """Tell whether there is no GPU, or no torch to use it; imports torch."""
    try:
        import torch
    except ImportError:
        return True
    return not torch.cuda.is_available()
