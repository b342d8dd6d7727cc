// Controls: what rows are coloured by, and which of them are dimmed.

document.getElementById("toolbar").hidden = false;

const colourSelect = document.getElementById("colour");
colourings.forEach((way, i) => colourSelect.add(new Option(way.title, i)));
colourSelect.addEventListener("change", () => {
  state.colouring = Number(colourSelect.value);
  state.only = null;
  drawLegend();
  tell("points");
});

const legend = document.getElementById("legend");

function drawLegend() {
  const way = colouring();
  document.getElementById("legend-title").textContent = way.categories ? `${way.title} (click to see one alone)` : way.title;
  legend.replaceChildren(...(way.categories ? chips(way) : [scaleBar(way)]));
}

function chips(way) {
  const sizes = new Map();
  for (const view of views) {
    if (way.kind === "cluster" && !view.sharesClusters) continue;
    way.codes[view.index]?.forEach((code) => sizes.set(code, (sizes.get(code) ?? 0) + 1));
  }
  return way.categories.map((name, code) => {
    const chip = element("button", "chip", "");
    chip.type = "button";
    chip.dataset.code = code;
    chip.title = `${name}: ${count(sizes.get(code) ?? 0)} rows in all views`;
    chip.setAttribute("aria-pressed", String(state.only === code));
    chip.append(swatch(code), element("span", "", name));
    chip.addEventListener("click", () => {
      state.only = state.only === code ? null : code;
      for (const other of legend.querySelectorAll(".chip")) {
        other.setAttribute("aria-pressed", String(Number(other.dataset.code) === state.only));
      }
      tell("points");
    });
    return chip;
  });
}

function swatch(code) {
  const mark = element("i", `swatch ${SHAPES[Math.floor(code / N_COLOURS) % SHAPES.length]}`, "");
  mark.style.setProperty("--colour", `var(--category-${code % N_COLOURS})`);
  return mark;
}

function scaleBar(way) {
  const bar = element("div", "scale", "");
  const [low, high] = way.range;
  bar.append(element("span", "", decimal(low)), element("i", "", ""), element("span", "", decimal(high)));
  const missing = element("span", "missing", way.missing);
  missing.prepend(element("i", "swatch disc", ""));
  bar.append(missing);
  return bar;
}

// Confidence of all matches in rising order: the slider goes along it.
const risingConfidence = Float32Array.from(
  others.flatMap((view) => Array.from(view.partners).flatMap((row, place) => (row === NOBODY ? [] : [view.confidence[place]]))),
).sort();

const slider = document.getElementById("confidence");
const quantiles = document.getElementById("quantiles");

function thresholdAt(percent) {
  if (percent === 0 || !risingConfidence.length) return null;
  const at = Math.floor((percent / 100) * (risingConfidence.length - 1));
  return risingConfidence[at];
}

function quantilePath(from) {
  const top = risingConfidence[risingConfidence.length - 1] || 1;
  const points = [];
  for (let percent = from; percent <= 100; percent++) {
    const height = (thresholdAt(percent) ?? risingConfidence[0]) / top;
    points.push(`${percent},${(100 - 92 * height).toFixed(1)}`);
  }
  return `M${from},100L${points.join("L")}L100,100Z`;
}

function moveSlider() {
  const percent = Number(slider.value);
  state.threshold = thresholdAt(percent);
  quantiles.querySelector(".kept").setAttribute("d", quantilePath(percent));
  const kept = nMatches - (state.threshold === null ? 0 : risingConfidence.indexOf(state.threshold));
  const text = state.threshold === null
    ? `all ${count(nMatches)} matches`
    : `confidence ${decimal(state.threshold)} or more: ${count(kept)} of ${count(nMatches)}`;
  document.getElementById("confidence-text").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  tell("points");
}

function prepareSlider() {
  const control = document.getElementById("slider-control");
  if (!nMatches) {
    control.hidden = true;
    return;
  }
  quantiles.querySelector(".all").setAttribute("d", quantilePath(0));
  if (risingConfidence[0] === risingConfidence[risingConfidence.length - 1]) {
    slider.disabled = true;
    document.getElementById("confidence-text").textContent = `all ${count(nMatches)} matches have confidence ${decimal(risingConfidence[0])}`;
    return;
  }
  slider.addEventListener("input", moveSlider);
  slider.value = 0; // browsers remember it over a reload
  moveSlider();
}

const arrangeSelect = document.getElementById("arrange");
arrangeSelect?.addEventListener("change", () => {
  for (const map of maps) map.arrange(arrangeSelect.value === "joint");
  tell("points");
});
if (arrangeSelect) arrangeSelect.value = "own"; // browsers remember it over a reload

colourSelect.value = 0;
drawLegend();
prepareSlider();
