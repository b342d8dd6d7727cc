import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import combinations, product

import numpy as np
import pytest
from made_findings import EVIL, N, make_findings

from tests.cli.test_cluster import BEFORE, SIGNS
from unaligned.alignment import Alignment
from unaligned.cli._outputs import spreadsheet_cell
from unaligned.report import render
from unaligned.report.page import _part
from unaligned.report.payload import pack_array, to_json
from unaligned.selection.evidence import weigh

TYPES = {"Uint8": "u1", "Uint16": "<u2", "Uint32": "<u4", "Float32": "<f4"}


class Page(HTMLParser):
    """Elements of a page, its text, and the text of each script."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts, self.text, self.inside = [], [], "", None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data


def unpack(packed):
    data = base64.b64decode(packed["base64"])
    return np.frombuffer(data, TYPES[packed["type"]])


@pytest.mark.parametrize(
    ("array", "type_"),
    [
        (np.array([0, 255]), "Uint8"),
        (np.array([256, 3], dtype=np.int32), "Uint16"),
        (np.array([70_000]), "Uint32"),
        (np.array([0.1, np.nan]), "Float32"),
        (np.empty(0, dtype=int), "Uint8"),
    ],
)
def test_arrays_come_back(array, type_):
    packed = pack_array(array)
    assert packed["type"] == type_
    np.testing.assert_array_equal(unpack(packed), array.astype(unpack(packed).dtype))


def test_payload_holds_the_findings():
    findings = make_findings()
    payload = json.loads(to_json(findings))
    for view, packed in zip(findings.views, payload["views"], strict=True):
        places = np.column_stack([unpack(packed["x"]), unpack(packed["y"])])
        np.testing.assert_allclose(
            places / 65535 * 2 - 1, view.coordinates, atol=1.01 / 65535
        )
        np.testing.assert_array_equal(unpack(packed["labels"]), view.labels)
        np.testing.assert_array_equal(
            unpack(packed["partners"]).astype(int) - 1, view.partners
        )
        np.testing.assert_array_equal(
            unpack(packed["confidence"]), view.confidence.astype(np.float32)
        )
    assert payload["views"][0]["ids"][1] == EVIL
    batch, depth = payload["columns"]
    np.testing.assert_array_equal(unpack(batch["values"][0]), np.arange(N) % 2 + 1)
    assert batch["values"][2] is None
    assert depth["categories"] is None


def test_nothing_a_user_says_becomes_markup():
    page = Page(render(make_findings(), title=EVIL))
    assert not any(tag in ("img", "b") for tag, _ in page.elements)
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert len(page.scripts) == 2
    assert json.loads(page.scripts[0])["views"][0]["ids"][1] == EVIL


def test_only_our_script_may_run_and_nothing_is_loaded():
    page = Page(render(make_findings()))
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = hashlib.sha256(page.scripts[1].encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "default-src 'none'" in policy
    for _, attributes in page.elements:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_the_page_says_what_matters_without_any_script():
    html = render(make_findings(objective=np.array([3.0, 2.0, 1.5]), n_iter=3))
    text = " ".join(Page(html).text.split())
    for part in (
        "SAVuC on 3 views",
        "Some views are aligned",
        "refused view “protein”",
        "objects: rows are matched one by one",
        "none: no correspondence reached a trust of 50",
        "It converged after 3 iterations",
        "n_clusters3",
        "need JavaScript",
    ):
        assert part in text


def test_a_single_step_has_no_curve():
    html = render(make_findings(objective=np.array([3.25])))
    assert "its objective is 3.25" in html
    assert 'class="chart"' not in html


def test_the_evidence_on_the_number_of_clusters_is_drawn():
    scores = np.array([[0.3, 0.5, 0.9, 0.85]])
    evidence = weigh(np.array([2, 4, 8, 16]), scores, scores / 2)
    html = render(make_findings(evidence=evidence))
    text = " ".join(Page(html).text.split())
    assert "The number of clusters, 8, was chosen without labels; 8 to 16" in text
    # On a scale of ratios, 8 lies at two thirds between 2 and 16.
    assert 'class="band" style="left: 66.67%; width: 33.33%"' in html
    curves = re.findall(r'd="M([^"]*)"', html[html.index('class="band"') :])[:2]
    for path, expected in zip(curves, (scores[0] / 2, scores[0]), strict=True):
        x, y = np.array([p.split(",") for p in path.split("L")], dtype=float).T
        np.testing.assert_allclose(x, [0, 33.33, 66.67, 100])
        np.testing.assert_allclose(1 - y / 100, expected, atol=1e-4)  # axis: 0 to 1
    assert 'id="evidence"' not in render(make_findings())
    one = weigh(np.array([2]), np.zeros((1, 1)), np.zeros((1, 1)))
    assert 'class="band"' not in render(make_findings(evidence=one))


def test_twenty_thousand_rows_and_three_views_are_small():
    findings, n = make_findings(), 20_000
    rng = np.random.RandomState(0)
    views = [
        type(view)(
            **vars(view)
            | {
                "coordinates": rng.uniform(-0.7, 0.7, (n, 2)).astype(np.float32),
                "labels": rng.randint(10, size=n),
                "partners": rng.permutation(n),
                "confidence": rng.uniform(size=n),
                "ids": [f"sample-{row:05d}" for row in range(n)],
            }
        )
        for view in findings.views
    ]
    html = render(make_findings(views=views, columns=[]))
    assert len(html.encode()) < 2_200_000


# --- Colours -----------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009): what people without one kind of cone see, as
# matrices on linear RGB.
VISIONS = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Linear RGB to OKLab (Ottosson 2020).
TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def themes():
    """Colours by name: those of light pages, and those of dark ones."""
    light, dark = _part("report.css").split("@media (prefers-color-scheme: dark)")[:2]
    read = [dict(re.findall(r"--([\w-]+): (#\w{6})", css)) for css in (light, dark)]
    return [read[0], read[0] | read[1]]


def linear(colour):
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    luminance = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return (luminance[1] + 0.05) / (luminance[0] + 0.05)


def seen(colour, vision):
    rgb = np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1)
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_LMS) @ rgb)


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_categories_stand_out_and_apart_for_every_eye(theme):
    colours = [theme[f"category-{i}"] for i in range(8)]
    assert min(contrast(colour, theme["surface"]) for colour in colours) >= 2.9
    for vision in VISIONS:
        looks = [seen(colour, vision) for colour in colours]
        apart = min(np.linalg.norm(a - b) for a, b in combinations(looks, 2))
        assert apart >= 0.085, vision


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_text_can_be_read(theme):
    for name in ("ink", "soft", "good", "partial", "none", "accent"):
        for ground in ("paper", "surface"):
            assert contrast(theme[name], theme[ground]) >= 4.5, name


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_the_scale_rises_or_falls_in_lightness_for_every_eye(theme):
    for vision in VISIONS:
        ends = [
            seen(theme[f"scale-{end}"], vision)[0] for end in ("low", "mid", "high")
        ]
        steps = np.diff(ends)
        assert (steps > 0.08).all() or (steps < -0.08).all(), vision


def test_what_colours_mean_among_views_that_are_aligned_apart():
    findings = make_findings()
    text = " ".join(Page(render(findings)).text.split())
    assert "nothing about the same colour elsewhere." in text
    rows, sure = [np.arange(N)] * 3, [np.ones(N)] * 3
    apart = Alignment(1, rows, sure, np.array([0, 1, 0.9]))
    text = " ".join(Page(render(replace(findings, apart=[apart]))).text.split())
    assert (
        "elsewhere, except among views that are aligned apart, with each other" in text
    )


def test_every_verdict_is_explained_where_it_is_given():
    views = make_findings().views
    classes = replace(views[1], verdict="classes", trust=0.8, basis="known pairs")
    untested = replace(views[2], verdict="untested", trust=np.nan, known=0.2)
    html = render(make_findings(views=[views[0], classes, untested]))
    text = " ".join(Page(html).text.split())
    assert "classes: groups of rows correspond and clusters have common names" in text
    assert "untested: SAVuC has no test of its own matches" in text
    assert "objects:" not in text
    assert "none:" not in text
    assert "80 %" in text
    assert "20 %" in text
    assert "The verdict on <b>atac</b> rests on known pairs." in text
    assert json.loads(Page(html).scripts[0])["views"][2]["trust"] is None


def test_a_promising_view_is_marked_and_explained():
    views = make_findings().views
    text = Page(render(make_findings())).text
    assert "promising" not in text
    hopeful = replace(views[2], promising=True)
    text = Page(render(make_findings(views=[*views[:2], hopeful]))).text
    assert text.count("none, promising") == 1
    assert "promising: rows that were held out" in " ".join(text.split())


def test_known_pairs_to_check_are_listed_by_their_ids():
    findings = make_findings(suspects={(0, 1): np.array([[0, 3], [5, 7]] * 60)})
    text = " ".join(Page(render(findings)).text.split())
    assert "Known pairs to check" in text
    assert "rna=1+1<b>atac</b>3" in text.replace(" ", "").replace("cell", "")
    assert "The first 100 of 120." in text
    assert "to check" not in Page(render(make_findings())).text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_writes_no_formula_either():
    """Cells of the downloaded table are those that the commands write."""
    texts = [f"{b}{s}1" for b, s in product(["", *BEFORE], [*SIGNS, "cell-", "'="])]
    script = (files("unaligned.report") / "page" / "table.js").read_text("utf-8")
    function = re.search(r"^function csvCell.*?^}", script, re.S | re.M).group()
    code = f"{function}\nconsole.log(JSON.stringify({json.dumps(texts)}.map(csvCell)))"
    run = subprocess.run(
        ["node", "-e", code], capture_output=True, encoding="utf-8", check=True
    )
    cells = [cell.strip('"') for cell in json.loads(run.stdout)]  # of a cell with lines
    assert cells == [spreadsheet_cell(text) for text in texts]
