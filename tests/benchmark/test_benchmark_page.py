import re
from html.parser import HTMLParser

import pytest
from made_up_results import WIKI, add, add_failure, paper_like

from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import show
from unaligned.benchmark.page import ARTEFACTS, html_page, markdown_page, sections


@pytest.fixture(scope="module")
def results():
    return paper_like()


@pytest.fixture(scope="module")
def parts(results):
    return sections(results)


@pytest.fixture(scope="module")
def html(results, parts):
    return html_page(results, parts)


class Reader(HTMLParser):
    """Collects tags, and complains about those that are not closed."""

    VOID = {"meta", "br", "img", "input", "link", "hr"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_its_names_are_unique(html):
    page = Reader(html)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    links = [a["href"][1:] for tag, a in page.tags if tag == "a"]
    assert set(links) <= set(page.ids)


def test_the_page_loads_nothing_from_elsewhere(html):
    page = Reader(html)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed")
        assert "src" not in attributes
        for name, value in attributes.items():
            if name.endswith("href"):
                assert value.startswith(("#", "data:"))
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttp", html)


def test_every_section_has_a_heading_and_a_link(html, parts):
    names = [section.name for section in parts]
    assert names == ["short", *(name for name in ARTEFACTS if name != "table5")]
    for name in names:
        assert f'<h2 id="{name}">' in html
        assert f'<a href="#{name}">' in html


def test_drawings_say_what_they_show_and_take_the_colour_of_the_text(html):
    page = Reader(html)
    drawings = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(drawings) == 5
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in drawings)
    assert "currentColor" in html
    assert "#010203" not in html


def test_reasons_of_strangers_are_text():
    results = Results()
    add(results, WIKI, "LMVSC")
    bad = WIKI.cell("FMVACC", {}).record()
    results.add(bad | {"status": "failed", "reason": "<script>alert(1)</script>"})
    html = html_page(results, [])
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_markdown_has_the_same_tables_figures_and_rules(results, parts):
    text = markdown_page(results, parts, "images", "Made for a test.")
    assert "Made for a test." in text
    for section in parts:
        assert f"## {section.title}\n" in text
        for table in section.tables:
            for row in table.rows:
                cells = [show(*cell) for cell in zip(table.columns, row, strict=True)]
                assert f"| {' | '.join(cells)} |" in text
        for picture in section.pictures:
            assert f"(images/{picture.name}.svg)" in text
    assert "| PAVuC | released | 53.5 ± 0.7 | 53.4 | +0.1 |" in text
    assert "**label-free**" in text
    assert "python 3.11" in text
    widths = {}
    for line in text.splitlines():
        if line.startswith("|"):
            widths.setdefault(line.count("|"), 0)
        elif not line:
            assert len(widths) <= 1  # all lines of a table have the same cells
            widths = {}


def test_failures_are_told(results):
    add_failure(results, WIKI, "VuCG", {"lam": 1.0, "tau": 1.2})
    assert "Wiki, VuCG: time-out: not done (1 cells)" in html_page(results, [])


def test_times_of_a_busy_machine_are_called_upper_bounds():
    for load, warned in [(1.5, False), (12.0, True)]:
        results = Results()
        results.add_environment("e1", {"cores": 2})
        add(results, WIKI, "LMVSC", load=load)
        assert ("upper bounds" in html_page(results, [])) == warned


def test_a_page_of_nothing_says_so():
    assert "No cell has come to an end yet" in html_page(Results(), [])


@pytest.mark.heavy
class TestInABrowser:
    @pytest.fixture
    def page(self, browser, html, tmp_path):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        browser.get_log("browser")
        browser.get(path.as_uri())
        return browser

    def column(self, page, name):
        """Values of a column of Table 4, from top to bottom."""
        return page.execute_script(
            """
            const table = document.querySelector("#table-4-wiki + div table");
            const names = [...table.tHead.rows[0].cells].map((c) => c.innerText.trim());
            const at = names.indexOf(arguments[0]);
            return [...table.tBodies[0].rows].map((row) => row.cells[at].dataset.value);
            """,
            name,
        )

    def press(self, page, name):
        buttons = page.find_elements("css selector", "#table-4-wiki + div button")
        next(button for button in buttons if button.text == name).click()

    def test_it_opens_without_complaint(self, page):
        assert "reproduced" in page.title
        assert page.get_log("browser") == []
        assert all(
            figure.size["width"] > 100 and figure.size["height"] > 50
            for figure in page.find_elements("css selector", "figure svg")
        )

    def test_tables_sort_by_number_and_by_word(self, page):
        before = self.column(page, "ACC")
        self.press(page, "ACC")
        numbers = [float(value) for value in self.column(page, "ACC") if value]
        assert numbers == sorted(numbers, reverse=True)
        assert sorted(self.column(page, "ACC")) == sorted(before)
        assert self.column(page, "ACC")[-1] == ""  # no value: at the end, both ways
        self.press(page, "ACC")
        numbers = [float(value) for value in self.column(page, "ACC") if value]
        assert numbers == sorted(numbers)
        assert self.column(page, "ACC")[-1] == ""
        heading = page.find_element("css selector", "th[aria-sort]")
        assert heading.get_attribute("aria-sort") == "ascending"
        self.press(page, "method")
        words = self.column(page, "method")
        assert words == sorted(words, key=str.lower)

    def test_tables_can_be_sorted_from_the_keyboard(self, page):
        page.find_elements("css selector", "thead button")[2].send_keys("\n")
        assert page.find_elements("css selector", "th[aria-sort='descending']")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_letters_stand_out_from_the_page(self, page, scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        try:
            style = """
                const element = document.querySelector(arguments[0]);
                return getComputedStyle(element)[arguments[1]];
            """
            paper = luminance(page.execute_script(style, "body", "backgroundColor"))
            assert (paper < 0.5) == (scheme == "dark")
            for what in ("body", ".soft", "a[href='#how']", ".note", "figcaption"):
                ink = luminance(page.execute_script(style, what, "color"))
                light, dark = max(ink, paper), min(ink, paper)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, what  # WCAG AA
            drawn = page.execute_script(style, "figure svg text", "fill")
            assert abs(luminance(drawn) - paper) > 0.4
        finally:
            page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    @pytest.mark.parametrize("width", [400, 1400])
    def test_the_page_fits_every_width(self, page, width):
        metrics = {
            "width": width,
            "height": 900,
            "deviceScaleFactor": 1,
            "mobile": False,
        }
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        try:
            wide = page.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width
        finally:
            page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def luminance(colour):
    """Relative luminance of a colour as browsers write it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
