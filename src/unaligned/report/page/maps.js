// Maps: all views together. A row that is lit in one is lit in all.

readTheme();

const grid = document.getElementById("map-grid");
const threads = document.getElementById("threads");
const maps = views.map((view) => new ViewMap(view, grid.querySelector(`[data-view="${view.index}"]`)));

function drawAll() {
  for (const map of maps) map.draw();
}

// Several changes within one frame are drawn once.
let isWaiting = false;
on("points", () => {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    drawAll();
    tell("light");
  });
});

on("light", () => {
  const now = lit();
  const found = views.map((view) => (now ? partner(now.view, now.row, view) : NOBODY));
  maps.forEach((map, i) => {
    map.ring(found[i], now?.view === map.view);
    readOut(map, found[i], now);
  });
  drawThreads(now, found);
});

// What is known of the lit row, below each map.
function readOut(map, row, now) {
  const { view, readout } = map;
  readout.replaceChildren();
  readout.classList.toggle("pinned", state.pinned !== null && now === state.pinned);
  if (!now) {
    const trust = view === template || view.trust === null ? "" : ` · trust ${view.trust.toFixed(2)}`;
    readout.append(element("span", "", `${count(view.n)} rows${trust}`));
    return;
  }
  if (row === NOBODY) {
    readout.append(element("span", "quiet", "no partner"));
    return;
  }
  readout.append(element("strong", "", rowName(view, row)));
  readout.append(element("span", "", describe(view, row).join(" · ")));
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

// Lines from the lit row to its partners, across the maps.
function drawThreads(now, found) {
  const paths = [];
  if (now && maps.length > 1) {
    const frame = grid.getBoundingClientRect();
    const at = (map, row) => {
      const box = map.canvas.getBoundingClientRect();
      const [left, top] = map.position(row);
      const isInside = left >= 0 && top >= 0 && left <= box.width && top <= box.height;
      return isInside ? [box.left - frame.left + left, box.top - frame.top + top] : null;
    };
    const start = at(maps[now.view.index], now.row);
    maps.forEach((map, i) => {
      const end = map.view === now.view || found[i] === NOBODY ? null : at(map, found[i]);
      if (start && end) paths.push(thread(start, end, isSound(map.view, found[i]) && isSound(now.view, now.row)));
    });
  }
  threads.replaceChildren(...paths);
}

function thread([x1, y1], [x2, y2], sound) {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const bend = 0.12 * Math.hypot(x2 - x1, y2 - y1);
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2 - bend];
  path.setAttribute("d", `M${x1},${y1}Q${mx},${my} ${x2},${y2}`);
  if (!sound) path.classList.add("unsound");
  return path;
}

for (const map of maps) {
  const { canvas, view } = map;
  let grip = null; // where a drag began
  const where = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [left, top] = where(event);
    if (grip && map.zoom > 1) {
      grip.moved ||= Math.hypot(left - grip.at[0], top - grip.at[1]) > 4;
      map.pan = [grip.pan[0] + left - grip.at[0], grip.pan[1] + top - grip.at[1]];
      map.draw();
      tell("light");
      return;
    }
    const row = map.nearest(left, top);
    if (state.hovered?.view !== view || state.hovered?.row !== row) light(view, row, "hovered");
  });
  canvas.addEventListener("pointerdown", (event) => {
    grip = { at: where(event), pan: map.pan, moved: false };
    if (map.zoom > 1) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grip && !grip.moved) {
      const row = map.nearest(...where(event));
      if (row === NOBODY) light(view, NOBODY, "pinned");
      else togglePin(view, row);
    }
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => { grip = null; });
  canvas.addEventListener("pointerleave", () => light(view, NOBODY, "hovered"));
  canvas.addEventListener("blur", () => light(view, NOBODY, "hovered"));
  canvas.addEventListener("dblclick", (event) => map.zoomBy(2, ...where(event)));
  // A pinch on a trackpad arrives as a wheel with Ctrl; a plain wheel scrolls the page.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    map.zoomBy(2 ** (-event.deltaY / 150), ...where(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => onMapKey(map, event));
  map.figure.querySelector(".zoom").addEventListener("click", (event) => {
    const factor = { in: 1.6, out: 1 / 1.6, all: 0 }[event.target.dataset.zoom];
    if (factor !== undefined) map.zoomBy(factor);
  });
}

function repaint() {
  readTheme();
  drawAll();
  tell("light");
}

for (const map of maps) map.resize();
new ResizeObserver(() => {
  for (const map of maps) map.resize();
  repaint();
}).observe(grid);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

// Paper is white.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.paper = "";
  repaint();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.paper;
  repaint();
});
