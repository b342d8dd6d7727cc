"""The page in a real browser, opened from a file."""

import csv
import time
from dataclasses import replace

import numpy as np
import pytest
from made_findings import EVIL, N, make_findings

from unaligned.report import render

pytestmark = pytest.mark.heavy

MARGIN = 18  # pixels between the outermost rows and the edge of a map


@pytest.fixture
def page(browser, tmp_path):
    """The page of the made findings; complains of anything in the browser's console."""
    path = tmp_path / "page.html"
    path.write_text(render(make_findings()), encoding="utf-8")
    browser.set_window_size(1400, 1000)
    browser.get(path.as_uri())
    browser.get_log("browser")
    yield Hand(browser)
    # That these tests read pixels back often is no fault of the page.
    said = [
        line for line in browser.get_log("browser") if line["source"] != "rendering"
    ]
    assert said == []
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert browser.execute_script(loaded) == []


class Hand:
    """What a reader can do."""

    def __init__(self, browser):
        self.browser = browser

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def texts(self, selector):
        return [e.text for e in self.browser.find_elements("css selector", selector)]

    def canvas(self, view):
        return self.find(f'[data-view="{view}"] .points')

    def point_at_corner(self, view, right, top):
        """Point at the row in a corner of the lattice; return where that is."""
        from selenium.webdriver import ActionChains

        canvas = self.canvas(view)
        self.scroll_to(canvas)
        size = canvas.size
        # The lattice is square and the map may not be: it lies in the middle.
        half = min(size["width"], size["height"]) / 2 - MARGIN
        offset = (half if right else -half), (-half if top else half)
        ActionChains(self.browser, 0).move_to_element_with_offset(
            canvas, *map(round, offset)
        ).perform()

    def click(self, selector):
        element = self.find(selector)
        self.scroll_to(element)
        element.click()

    def scroll_to(self, element):
        script = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})"
        self.browser.execute_script(script, element)

    def readouts(self):
        return self.texts(".readout")

    def lines(self):
        """Cells of the lines of the table that are on the page."""
        rows = self.browser.find_elements("css selector", "#match-table tbody tr")
        return [
            [cell.text for cell in row.find_elements("css selector", "td")]
            for row in rows
        ]

    def slide_to(self, percent):
        from selenium.webdriver import Keys

        slider = self.find("#confidence")
        slider.send_keys(Keys.HOME)
        slider.send_keys(Keys.ARROW_RIGHT * percent)
        self.next_frame()

    def choose(self, selector, text):
        from selenium.webdriver.support.select import Select

        Select(self.find(selector)).select_by_visible_text(text)
        self.next_frame()

    def next_frame(self):
        self.browser.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def colour_at_corner(self, view, right, top):
        """Pixel in the middle of the row in a corner of the lattice."""
        script = """
            const [canvas, right, top, margin] = arguments;
            const half = Math.min(canvas.width, canvas.height) / 2 - margin;
            const x = canvas.width / 2 + (right ? half : -half);
            const y = canvas.height / 2 + (top ? -half : half);
            const context = canvas.getContext("2d");
            const pixel = context.getImageData(Math.round(x), Math.round(y), 1, 1);
            return Array.from(pixel.data)
        """
        canvas = self.canvas(view)
        pixel = self.browser.execute_script(script, canvas, right, top, MARGIN)
        return np.array(pixel[:3])

    def named_colour(self, name):
        script = """
            const style = getComputedStyle(document.documentElement);
            return style.getPropertyValue(arguments[0]).trim()
        """
        text = self.browser.execute_script(script, f"--{name}")
        return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)])


def test_pointing_at_a_row_lights_its_partner(page):
    # Row 0 is at the bottom left, its partner 24 at the top right of the other map.
    page.point_at_corner(0, right=False, top=False)
    mine, theirs, refused = page.readouts()
    assert mine.splitlines() == ["=1+1", "cluster 0 · batch a · depth 0.00"]
    assert theirs.splitlines()[0] == "row 24"
    assert "confidence 0.040" in theirs
    assert refused == "no partner"
    (thread,) = page.browser.find_elements("css selector", "#threads path")
    grid, target = page.find("#map-grid").rect, page.canvas(1).rect
    half = min(target["width"], target["height"]) / 2 - MARGIN
    expected = [
        target["x"] + target["width"] / 2 + half - grid["x"],
        target["y"] + target["height"] / 2 - half - grid["y"],
    ]
    end = thread.get_attribute("d").split()[-1].split(",")
    np.testing.assert_allclose(np.array(end, dtype=float), expected, atol=2)
    page.point_at_corner(1, right=False, top=False)  # row 0 there: template row 24
    assert page.readouts()[0] == "no partner"


def test_a_click_keeps_a_row_lit_and_marks_its_match(page):
    from selenium.webdriver import ActionChains

    page.point_at_corner(0, right=True, top=False)  # row 4
    ActionChains(page.browser, 0).click().perform()
    page.point_at_corner(0, right=False, top=False)
    assert page.readouts()[0].startswith("=1+1")
    ActionChains(page.browser, 0).move_to_element(page.find("h2")).perform()
    assert page.readouts()[0].startswith("cell 4")
    (lit,) = page.browser.find_elements("css selector", "tr.lit")
    assert lit.text.startswith("cell 4")


def test_the_slider_dims_rows_and_leaves_out_matches(page):
    assert page.find("#range").text == "1–20 of 20"
    # Row 4, with a confidence of 0.2.
    before = page.colour_at_corner(0, right=True, top=False)
    page.slide_to(50)
    # Confidence is 0.04, 0.08, … 0.8: the tenth of them is half-way, and 11 are left.
    assert page.find("#confidence-text").text == "confidence 0.40 or more: 11 of 20"
    assert page.find("#range").text == "1–11 of 11"
    assert min(float(line[-1]) for line in page.lines()) == 0.4
    dimmed = page.colour_at_corner(0, right=True, top=False)
    faint, surface = page.named_colour("faint"), page.named_colour("surface")
    assert np.abs(dimmed - before).max() > 30
    assert ((dimmed >= faint - 1) & (dimmed <= surface)).all()
    page.point_at_corner(0, right=True, top=False)
    assert page.readouts()[0] == "25 rows"


def test_rows_take_the_colour_that_was_asked_for(page):
    def near(colour, name):
        return np.abs(colour - page.named_colour(name)).max() < 45

    # Row 24 at the top right: cluster 0, no partner, batch a, the greatest depth.
    assert near(page.colour_at_corner(0, right=True, top=True), "category-0")
    page.choose("#colour", "Confidence")
    assert near(page.colour_at_corner(0, right=True, top=True), "faint")
    page.choose("#colour", "depth")
    assert near(page.colour_at_corner(0, right=True, top=True), "scale-high")
    assert near(page.colour_at_corner(0, right=False, top=False), "scale-low")
    page.choose("#colour", "batch")
    assert page.texts("#legend .chip") == ["a", EVIL]


def test_one_cluster_can_be_seen_alone(page):
    chip = page.find('#legend [data-code="1"]')
    chip.click()
    page.next_frame()
    assert chip.get_attribute("aria-pressed") == "true"
    page.point_at_corner(0, right=False, top=False)  # row 0 is in cluster 0
    assert page.readouts()[0] == "25 rows"
    chip.click()
    page.next_frame()
    page.point_at_corner(0, right=False, top=False)
    assert page.readouts()[0].startswith("=1+1")


def test_search_narrows_the_table(page):
    page.find("#search").send_keys("CELL 1")  # in either view, in any case
    assert [line[0] for line in page.lines()] == [f"cell {i}" for i in range(10, 20)]
    page.find("#search").send_keys("9")
    assert [line[0] for line in page.lines()] == ["cell 19"]
    page.find("#search").send_keys(" nobody")
    assert page.find("#range").text == "No match fits."
    assert not page.find("#download").is_enabled()


def test_the_table_is_sorted_by_any_column(page):
    def click_heading(name):
        page.click(f"#match-table th:nth-child({name}) button")
        return [float(line[-1]) for line in page.lines()]

    rising = [round((i + 1) / N, 2) for i in range(20)]
    assert click_heading(6) == rising[::-1]
    assert click_heading(6) == rising
    heading = page.find("#match-table th:nth-child(6)")
    assert heading.get_attribute("aria-sort") == "ascending"


def test_a_row_of_the_table_is_shown_on_the_maps(page):
    page.click("#match-table tbody tr:nth-child(4) button")
    assert page.readouts()[0].startswith("cell 3")
    assert page.readouts()[1].startswith("row 21")


def test_csv_holds_the_matches_and_no_formula(page, tmp_path):
    page.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior",
        {"behavior": "allow", "downloadPath": str(tmp_path)},
    )
    assert page.find("#download").text == "Download 20 as CSV"
    page.click("#download")
    path = tmp_path / "matches.csv"
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    findings = make_findings()
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 20
    assert [line["template_id"] for line in lines[:4]] == [
        "'=1+1",
        EVIL,
        'a "quoted", name',
        "cell 3",
    ]
    for row, line in enumerate(lines):
        assert line["template_view"] == "rna"
        assert line["view"] == "<b>atac</b>"
        assert int(line["template_row"]) == row
        assert int(line["row"]) == int(line["id"]) == 24 - row
        assert float(line["confidence"]) == pytest.approx((row + 1) / N, abs=1e-6)
        assert float(line["trust"]) == 0.97
        assert line["verdict"] == "objects"
        assert int(line["template_cluster"]) == findings.views[0].labels[row]
        assert int(line["cluster"]) == findings.views[1].labels[24 - row]


def test_the_keyboard_reaches_everything(page):
    from selenium.webdriver import Keys

    canvas = page.canvas(0)
    page.browser.execute_script("arguments[0].focus()", canvas)
    canvas.send_keys(Keys.HOME)
    assert page.readouts()[0].startswith("=1+1")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert page.readouts()[0].startswith("</script>")
    canvas.send_keys(Keys.ARROW_UP)
    canvas.send_keys(Keys.ARROW_UP)  # two rows of five further up
    assert page.readouts()[0].startswith("cell 11")
    canvas.send_keys(Keys.ARROW_LEFT)
    assert page.readouts()[0].startswith("cell 10")
    canvas.send_keys(Keys.PAGE_DOWN)
    assert page.readouts()[0].startswith("cell 11")
    live = page.find("#live").get_attribute("textContent")
    assert live.startswith("cell 11, cluster 2")
    assert "row 13 in <b>atac</b>; no partner in protein" in live
    canvas.send_keys(Keys.ENTER)
    page.browser.execute_script("arguments[0].blur()", canvas)
    assert page.readouts()[0].startswith("cell 11")
    canvas.send_keys(Keys.ESCAPE)
    assert page.readouts()[0] == "25 rows"


def test_tab_goes_through_controls_legend_maps_and_table(page):
    from selenium.webdriver import ActionChains, Keys

    seen = []
    for _ in range(24):
        ActionChains(page.browser, 0).send_keys(Keys.TAB).perform()
        active = page.browser.switch_to.active_element
        seen.append(active.get_attribute("id") or active.get_attribute("class"))
    wanted = ["skip", "colour", "confidence", "chip", "points", "search", "download"]
    places = [seen.index(name) for name in wanted]
    assert places == sorted(places)


def test_zooming_keeps_what_is_under_the_pointer(page):
    from selenium.webdriver import ActionChains

    page.point_at_corner(0, right=True, top=True)
    ActionChains(page.browser, 0).double_click().perform()
    page.point_at_corner(0, right=True, top=True)
    assert page.readouts()[0].startswith("cell 24")
    # Twice the distance between rows: the neighbour that was there is there no more.
    page.canvas(0).send_keys("0")
    page.point_at_corner(0, right=False, top=False)
    assert page.readouts()[0].startswith("=1+1")


def test_strings_of_users_are_harmless(page):
    page.choose("#colour", "batch")
    page.point_at_corner(0, right=False, top=False)
    assert page.browser.execute_script("return window.hacked === undefined")
    assert page.texts("figcaption .name")[1] == "<b>atac</b>"
    assert page.lines()[1][0] == EVIL


def test_dark_pages_are_dark(page):
    before = page.named_colour("surface")
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        page.next_frame()
        assert page.named_colour("surface").max() < 60 < before.min()
        corner = page.colour_at_corner(0, right=True, top=True)
        assert np.abs(corner - page.named_colour("category-0")).max() < 45
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_small_confidences_are_not_spelled_out(browser, tmp_path):
    findings = make_findings()
    sure = np.full(N, 1e-9)
    findings.views[1] = replace(findings.views[1], confidence=sure)
    path = tmp_path / "page.html"
    path.write_text(render(findings), encoding="utf-8")
    browser.get(path.as_uri())
    cells = browser.find_elements("css selector", "#match-table td .figure")
    assert {cell.text for cell in cells} == {"< 0.01"}


def test_narrow_screens_do_not_scroll_sideways(page):
    size = {"width": 420, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.next_frame()
        width = "return document.documentElement.scrollWidth"
        assert page.browser.execute_script(width) <= 420
        # All columns are seen at once, but for heat maps, which may have many.
        wide = (
            "return [...document.querySelectorAll('.scroll')]"
            ".filter((box) => !box.querySelector('.clusters'))"
            ".map((box) => box.scrollWidth - box.clientWidth)"
        )
        assert max(page.browser.execute_script(wide)) <= 0
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_only_known_partners_have_unbroken_lines_where_matches_are_untested(
    browser, tmp_path
):
    from selenium.webdriver import Keys

    # Rows 0 to 4 of the template have known partners, the others guesses.
    views = make_findings().views
    sure = np.where(np.arange(N) < 5, 1.0, views[1].confidence)
    untested = {"verdict": "untested", "trust": np.nan, "known": 0.2}
    views[1] = type(views[1])(**vars(views[1]) | untested | {"confidence": sure})
    path = tmp_path / "page.html"
    path.write_text(render(make_findings(views=views)))
    browser.get(path.as_uri())
    hand = Hand(browser)
    assert "25 rows" in hand.readouts()[1]
    assert "trust" not in hand.readouts()[1]
    hand.point_at_corner(0, right=True, top=False)  # row 4
    assert hand.find("#threads path").get_attribute("class") is None
    hand.point_at_corner(1, right=False, top=True)  # row 20 there, 4 in the template
    assert hand.find("#threads path").get_attribute("class") is None
    hand.canvas(0).send_keys(Keys.PAGE_DOWN * 2)  # rows 5 and 6
    assert hand.find("#threads path").get_attribute("class") == "unsound"


def test_matches_without_clusters_make_a_page(browser, tmp_path):
    views = [
        type(view)(**vars(view) | {"labels": None}) for view in make_findings().views
    ]
    path = tmp_path / "page.html"
    path.write_text(render(make_findings(views=views, columns=[], method="align")))
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    hand = Hand(browser)
    assert hand.texts("#colour option") == ["Confidence"]
    assert hand.lines()[3] == ["cell 3", "<b>atac</b>", "21", "0.16"]
    hand.point_at_corner(1, right=True, top=True)
    assert hand.readouts()[1].splitlines() == ["row 24", "confidence 0.040"]


def test_nothing_matched_and_nothing_clustered_still_makes_a_page(browser, tmp_path):
    findings = make_findings()
    views = [
        type(view)(**vars(view) | {"labels": None, "partners": np.full(N, -1)})
        for view in findings.views[1:]
    ]
    views[0] = type(views[0])(**vars(views[0]) | {"partners": np.arange(N)})
    path = tmp_path / "page.html"
    bare = make_findings(views=views, columns=[], method="align")
    path.write_text(render(bare), encoding="utf-8")
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    hand = Hand(browser)
    assert hand.find("#matches-hint").text == "No rows are matched."
    assert not hand.find("#match-table").is_displayed()
    hand.point_at_corner(0, right=False, top=False)
    assert hand.readouts()[0].startswith("row 0")
