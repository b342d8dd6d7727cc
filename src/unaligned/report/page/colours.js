// Colours: which colour and shape a row has, and why.

// With 8 colours and 4 shapes, 32 categories look different before they repeat.
const N_COLOURS = 8;
const SHAPES = ["disc", "square", "triangle", "diamond"];

let theme;

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  theme = {
    categories: Array.from({ length: N_COLOURS }, (_, i) => rgb(get(`--category-${i}`))),
    surface: rgb(get("--surface")),
    faint: rgb(get("--faint")),
    ink: get("--ink"),
    halo: get("--surface"),
    font: style.fontFamily,
  };
  const [low, mid, high] = ["low", "mid", "high"].map((end) => rgb(get(`--scale-${end}`)));
  theme.scale = Array.from({ length: 63 }, (_, i) => (i < 31 ? mix(low, mid, i / 31) : mix(mid, high, (i - 31) / 31)));
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mix(from, to, share) {
  return from.map((value, i) => Math.round(value + share * (to[i] - value)));
}

// A way of colouring: categories(view)[row] or numbers(view)[row], either may be null.
function clusterColouring() {
  const shared = views.filter((view) => view.sharesClusters);
  const most = shared.reduce((top, view) => view.labels.reduce((a, b) => Math.max(a, b), top), 0);
  return {
    kind: "cluster",
    title: "Cluster",
    categories: Array.from({ length: most + 1 }, (_, i) => String(i)),
    codes: views.map((view) => view.labels),
    say: (view, row) => `cluster ${view.labels[row]}`,
  };
}

function confidenceColouring() {
  return {
    kind: "confidence",
    title: "Confidence",
    range: [0, template.rowConfidence.reduce((a, b) => Math.max(a, b), 0) || 1],
    numbers: views.map((view) => view.rowConfidence),
    missing: "no partner",
    // What ties a row to the template; the template itself needs no tie.
    say: (view, row) =>
      view === template || view.rowConfidence[row] === NOBODY ? null : `confidence ${decimal(view.rowConfidence[row])}`,
  };
}

function columnColouring(column) {
  if (column.categories) {
    return {
      kind: "column",
      title: column.name,
      categories: column.categories,
      codes: column.values.map((values) => values && Int32Array.from(values, (code) => code - 1)),
      say: (view, row) => {
        const values = column.values[view.index];
        return values && values[row] ? `${column.name} ${column.categories[values[row] - 1]}` : null;
      },
    };
  }
  return {
    kind: "column",
    title: column.name,
    range: usualRange(column.values),
    numbers: column.values,
    missing: "no value",
    say: (view, row) => {
      const values = column.values[view.index];
      return values && !Number.isNaN(values[row]) ? `${column.name} ${decimal(values[row])}` : null;
    },
  };
}

// From the second to the last but second percent, so that one odd value does not take
// the contrast from all others.
function usualRange(perView) {
  const known = perView.flatMap((values) => (values ? Array.from(values).filter(Number.isFinite) : []));
  const rising = Float64Array.from(known).sort();
  const at = (share) => rising[Math.round(share * (rising.length - 1))] ?? 0;
  return [at(0.02), at(0.98)];
}

const colourings = [
  ...(template.labels ? [clusterColouring()] : []),
  ...(nMatches ? [confidenceColouring()] : []),
  ...columns.map(columnColouring),
];
if (!colourings.length) {
  const numbers = views.map(() => null);
  colourings.push({ kind: "none", title: "Nothing", range: [0, 1], numbers, missing: "all rows", say: () => null });
}

// Paint of every row of a view: an index into the palette of colours and shapes.
function paletteOf(colouring, view) {
  const faint = { colour: theme.faint, shape: "disc" };
  if (colouring.categories) {
    const own = colouring.kind === "cluster" && !view.sharesClusters;
    const entries = Array.from({ length: N_COLOURS * SHAPES.length }, (_, i) => ({
      colour: theme.categories[i % N_COLOURS],
      shape: own ? "ring" : SHAPES[Math.floor(i / N_COLOURS)],
    }));
    return [faint, ...entries];
  }
  return [faint, ...theme.scale.map((colour) => ({ colour, shape: "disc" }))];
}

function paintOf(colouring, view) {
  const paint = new Uint8Array(view.n);
  if (colouring.categories) {
    const codes = colouring.codes[view.index];
    const repeat = N_COLOURS * SHAPES.length;
    if (codes) codes.forEach((code, row) => { if (code !== NOBODY) paint[row] = 1 + (code % repeat); });
    return paint;
  }
  const numbers = colouring.numbers[view.index];
  const [low, high] = colouring.range;
  const steps = theme.scale.length - 1;
  const isConfidence = colouring.kind === "confidence";
  if (numbers) numbers.forEach((value, row) => {
    if (Number.isNaN(value) || (isConfidence && value === NOBODY)) return;
    const share = high > low ? (value - low) / (high - low) : 1;
    paint[row] = 1 + Math.round(steps * Math.min(1, Math.max(0, share)));
  });
  return paint;
}
