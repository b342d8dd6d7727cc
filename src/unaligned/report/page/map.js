// Map: the rows of one view on a canvas, and which of them is under the pointer.

const MARGIN = 18; // CSS pixels around the rows
const REACH = 20; // how far from a row a pointer may be to mean it
const BINS = 96; // of the grid that rows are sorted into, per side

class ViewMap {
  constructor(view, figure) {
    this.view = view;
    this.figure = figure;
    this.canvas = figure.querySelector(".points");
    this.rings = figure.querySelector(".rings");
    this.readout = figure.querySelector(".readout");
    this.zoom = 1;
    this.pan = [0, 0];
    this.left = new Float32Array(view.n); // of every row, as last drawn
    this.top = new Float32Array(view.n);
    this.measureRows();
    this.sortIntoBins();
  }

  // Each view by itself, or all aligned views together.
  arrange(together) {
    const { view } = this;
    if (!view.joint) return;
    view.own ??= { x: view.x, y: view.y };
    Object.assign(view, together ? view.joint : view.own);
    this.zoom = 1;
    this.pan = [0, 0];
    this.measureRows();
    this.sortIntoBins();
  }

  measureRows() {
    const { x, y } = this.view;
    const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
    const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
    const [left, right, low, high] = [least(x), most(x), least(y), most(y)];
    this.middle = [(left + right) / 2, (low + high) / 2];
    this.span = [Math.max(right - left, 1), Math.max(high - low, 1)];
    this.corner = [left, low];
  }

  // Rows by bin: those of bin b are rowsByBin[binStarts[b]] … up to binStarts[b + 1].
  sortIntoBins() {
    const { n } = this.view;
    const bins = new Uint16Array(n);
    this.binStarts = new Uint32Array(BINS * BINS + 1);
    for (let row = 0; row < n; row++) {
      const [across, up] = this.binAt(this.view.x[row], this.view.y[row]);
      bins[row] = up * BINS + across;
      this.binStarts[bins[row] + 1]++;
    }
    for (let bin = 0; bin < BINS * BINS; bin++) this.binStarts[bin + 1] += this.binStarts[bin];
    const next = this.binStarts.slice(0, -1);
    this.rowsByBin = new Uint32Array(n);
    for (let row = 0; row < n; row++) this.rowsByBin[next[bins[row]]++] = row;
  }

  binAt(x, y) {
    const within = (value) => Math.min(BINS - 1, Math.max(0, Math.floor(value)));
    return [
      within(((x - this.corner[0]) / this.span[0]) * BINS),
      within(((y - this.corner[1]) / this.span[1]) * BINS),
    ];
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.density = window.devicePixelRatio || 1;
    this.size = [width, height];
    for (const canvas of [this.canvas, this.rings]) {
      canvas.width = Math.max(1, Math.round(width * this.density));
      canvas.height = Math.max(1, Math.round(height * this.density));
    }
    this.scale = Math.min((width - 2 * MARGIN) / this.span[0], (height - 2 * MARGIN) / this.span[1]);
  }

  // CSS pixels of a row on the canvas.
  position(row) {
    return this.pixelAt(this.view.x[row], this.view.y[row]);
  }

  // CSS pixels of a place on the map. Upwards is up.
  pixelAt(x, y) {
    const scale = this.scale * this.zoom;
    return [
      this.size[0] / 2 + this.pan[0] + (x - this.middle[0]) * scale,
      this.size[1] / 2 + this.pan[1] - (y - this.middle[1]) * scale,
    ];
  }

  // The map's coordinates of a point of the canvas.
  placeAt(left, top) {
    const scale = this.scale * this.zoom;
    return [
      this.middle[0] + (left - this.size[0] / 2 - this.pan[0]) / scale,
      this.middle[1] - (top - this.size[1] / 2 - this.pan[1]) / scale,
    ];
  }

  // The shown row nearest to a point of the canvas, if one is near.
  nearest(left, top) {
    const { x, y } = this.view;
    const [atX, atY] = this.placeAt(left, top);
    const reach = REACH / (this.scale * this.zoom);
    const [fromX, fromY] = this.binAt(atX - reach, atY - reach);
    const [toX, toY] = this.binAt(atX + reach, atY + reach);
    let best = NOBODY, shortest = reach * reach;
    for (let up = fromY; up <= toY; up++) {
      const last = this.binStarts[up * BINS + toX + 1];
      for (let i = this.binStarts[up * BINS + fromX]; i < last; i++) {
        const row = this.rowsByBin[i];
        const distance = (x[row] - atX) ** 2 + (y[row] - atY) ** 2;
        if (distance < shortest && this.view.shown[row]) {
          best = row;
          shortest = distance;
        }
      }
    }
    return best;
  }

  get radius() {
    const area = (this.size[0] * this.size[1]) / Math.max(this.view.n, 1);
    const fitting = 0.16 * Math.sqrt(area) * Math.sqrt(this.zoom);
    return Math.min(4.5, Math.max(1.1, fitting));
  }

  draw() {
    const { view, density } = this;
    const { n, shown } = view;
    const way = colouring();
    const paint = paintOf(way, view);
    const image = blankImage(this.canvas.width, this.canvas.height, theme.surface);
    const radius = Math.round(4 * this.radius * density) / 4;
    const opacity = n > 5000 ? 0.6 : 0.85;
    const inks = paletteOf(way, view).map(({ colour, shape }) => inkOf(colour, shape, radius, opacity));
    const dim = inkOf(theme.faint, "disc", 0.75 * radius, 0.45);
    this.placeRows();
    const { left, top } = this;
    const put = (row, ink) => press(image, ink, Math.round(left[row] * density), Math.round(top[row] * density));
    // Dimmed rows first, then those that are not coloured, then the coloured.
    for (let row = 0; row < n; row++) if (!shown[row]) put(row, dim);
    for (let row = 0; row < n; row++) if (shown[row] && !paint[row]) put(row, inks[0]);
    for (let row = 0; row < n; row++) if (shown[row] && paint[row]) put(row, inks[paint[row]]);
    const context = this.canvas.getContext("2d");
    context.putImageData(image, 0, 0);
    if (way.categories) this.nameCategories(context, way);
  }

  // Positions of all rows, for drawing.
  placeRows() {
    const { x, y, n } = this.view;
    const scale = this.scale * this.zoom;
    const [originX, originY] = this.pixelAt(0, 0);
    for (let row = 0; row < n; row++) {
      this.left[row] = originX + x[row] * scale;
      this.top[row] = originY - y[row] * scale;
    }
  }

  // Write the name of each category where most of its rows are.
  nameCategories(context, way) {
    const codes = way.codes[this.view.index];
    if (!codes || way.categories.length > 60) return;
    const places = densestPlaces(this, codes);
    const prime = way.kind === "cluster" && !this.view.sharesClusters ? "′" : "";
    context.save();
    context.scale(this.density, this.density);
    context.font = `600 13px ${theme.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = theme.halo;
    context.fillStyle = theme.ink;
    for (const { code, left, top } of places) {
      const whole = (way.categories[code] ?? String(code)) + prime;
      const name = whole.length > 14 ? `${whole.slice(0, 13)}…` : whole;
      context.strokeText(name, left, top);
      context.fillText(name, left, top);
    }
    context.restore();
  }

  // Ring around the row that is lit, dashed where its match cannot be relied on.
  ring(row, isOwn) {
    const context = this.rings.getContext("2d");
    context.clearRect(0, 0, this.rings.width, this.rings.height);
    if (row === NOBODY) return;
    const [left, top] = this.position(row);
    context.save();
    context.scale(this.density, this.density);
    const circle = (radius, width, colour) => {
      context.beginPath();
      context.arc(left, top, radius, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    };
    const radius = this.radius + 5;
    circle(radius, 5, theme.halo);
    if (!isOwn && !isSound(this.view, row)) context.setLineDash([3, 3]);
    circle(radius, isOwn ? 2.5 : 2, theme.ink);
    context.restore();
  }

  zoomBy(factor, left = this.size[0] / 2, top = this.size[1] / 2) {
    const zoom = Math.min(40, Math.max(1, this.zoom * factor));
    const grown = zoom / this.zoom;
    // What is at (left, top) stays there.
    const fixed = [left - this.size[0] / 2, top - this.size[1] / 2];
    this.pan = this.pan.map((pan, axis) => fixed[axis] - grown * (fixed[axis] - pan));
    this.zoom = zoom;
    if (zoom === 1) this.pan = [0, 0];
    this.canvas.classList.toggle("zoomed", zoom > 1);
    this.draw();
    tell("light");
  }

  // Bring a row into sight where zooming has lost it.
  show(row) {
    const [left, top] = this.position(row);
    if (left >= 0 && top >= 0 && left <= this.size[0] && top <= this.size[1]) return;
    this.pan = [this.pan[0] + this.size[0] / 2 - left, this.pan[1] + this.size[1] / 2 - top];
    this.draw();
  }
}

// Centre of the fullest of the coarse bins that each category is in, on the canvas. One
// that is scattered all over the map has no such place.
function densestPlaces({ view, left, top, size }, codes) {
  const side = 8, nBins = side * side;
  const nCodes = 1 + codes.reduce((a, b) => Math.max(a, b), 0);
  const counts = new Uint32Array(nCodes * nBins);
  const lefts = new Float64Array(nCodes * nBins), tops = new Float64Array(nCodes * nBins);
  for (let row = 0; row < view.n; row++) {
    const x = left[row], y = top[row];
    if (codes[row] === NOBODY || !view.shown[row] || x < 0 || y < 0 || x >= size[0] || y >= size[1]) continue;
    const bin = codes[row] * nBins + Math.floor((x / size[0]) * side) * side + Math.floor((y / size[1]) * side);
    counts[bin]++;
    lefts[bin] += x;
    tops[bin] += y;
  }
  const places = [];
  for (let code = 0; code < nCodes; code++) {
    const own = counts.subarray(code * nBins, (code + 1) * nBins);
    const fullest = own.reduce((best, n, bin) => (n > own[best] ? bin : best), 0);
    const n = own[fullest], bin = code * nBins + fullest;
    if (n > 0.2 * own.reduce((sum, more) => sum + more, 0)) places.push({ code, left: lefts[bin] / n, top: tops[bin] / n });
  }
  return places;
}
