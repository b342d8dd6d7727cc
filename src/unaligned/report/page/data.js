// Data: what Python wrote into the page, as typed arrays, and who belongs to whom.

const ARRAYS = { Uint8: Uint8Array, Uint16: Uint16Array, Uint32: Uint32Array, Float32: Float32Array };
const NOBODY = -1;

function unpack(packed) {
  if (packed === null) return null;
  const letters = atob(packed.base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

const page = JSON.parse(document.getElementById("findings").textContent);

const views = page.views.map((view, index) => {
  const x = unpack(view.x);
  return {
    ...view,
    index,
    x,
    y: unpack(view.y),
    joint: view.joint && { x: unpack(view.joint.x), y: unpack(view.joint.y) },
    n: x.length,
    labels: unpack(view.labels),
    // partners[s]: row of this view matched to row s of the template.
    partners: Int32Array.from(unpack(view.partners), (row) => row - 1),
    confidence: unpack(view.confidence),
  };
});

const template = views[page.template];
const others = views.filter((view) => view !== template);

for (const view of views) {
  // places[row]: the row of the template that a row is matched to.
  view.places = new Int32Array(view.n).fill(NOBODY);
  view.partners.forEach((row, place) => {
    if (row !== NOBODY) view.places[row] = place;
  });
  view.rowConfidence = new Float32Array(view.n).fill(NOBODY);
  view.shown = new Uint8Array(view.n).fill(1);
}

// rowConfidence[row]: confidence of the match of a row; of the template, the largest.
for (const view of others) {
  view.partners.forEach((row, place) => {
    if (row === NOBODY) return;
    const sure = view.confidence[place];
    view.rowConfidence[row] = sure;
    template.rowConfidence[place] = Math.max(template.rowConfidence[place], sure);
  });
}

const columns = page.columns.map((column) => ({ ...column, values: column.values.map(unpack) }));

const nMatches = others.reduce((sum, view) => sum + view.partners.reduce((n, row) => n + (row !== NOBODY), 0), 0);

// Row of another view that belongs to a row of a view.
function partner(view, row, other) {
  if (other === view) return row;
  const place = view.places[row];
  return place === NOBODY ? NOBODY : other.partners[place];
}

// Whether a row's match can be relied on: that of a matched view, or a known one.
function isSound(view, row) {
  if (view === template || view.level === "good") return true;
  return view.level === "partial" && view.rowConfidence[row] === 1;
}

function idOf(view, row) {
  return view.ids === null ? String(row) : view.ids[row];
}

function rowName(view, row) {
  return view.ids === null ? `row ${row}` : view.ids[row];
}

// A number for people: two decimals, or two digits where that would be too few.
function decimal(value) {
  const size = Math.abs(value);
  if (size >= 1000) return size < 1e6 ? count(Math.round(value)) : value.toExponential(2);
  if (size >= 0.1 || size === 0) return value.toFixed(2);
  return size < 1e-4 ? value.toExponential(1) : value.toPrecision(2);
}

function count(number) {
  return number.toLocaleString("en");
}
