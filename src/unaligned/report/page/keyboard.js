// Keyboard: from row to row without a pointer.

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// The nearest shown row to the left of, right of, above or below a row. What lies
// straight ahead counts as nearer than what lies askew.
function rowTowards(view, row, [right, up]) {
  let best = NOBODY, shortest = Infinity;
  for (let other = 0; other < view.n; other++) {
    const dx = view.x[other] - view.x[row], dy = view.y[other] - view.y[row];
    const ahead = dx * right + dy * up;
    if (ahead <= 0) continue;
    const aside = Math.abs(dx * up) + Math.abs(dy * right);
    const distance = ahead + 2 * aside;
    if (aside <= 2 * ahead && distance < shortest && view.shown[other]) {
      best = other;
      shortest = distance;
    }
  }
  return best;
}

// The next or previous shown row by number, so that every row can be reached.
function rowAfter(view, row, step) {
  for (let other = row + step; other >= 0 && other < view.n; other += step) {
    if (view.shown[other]) return other;
  }
  return NOBODY;
}

function onMapKey(map, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { view } = map;
  const now = lit();
  const row = now ? partner(now.view, now.row, view) : NOBODY;
  let next = NOBODY;
  if (event.key in DIRECTIONS) {
    next = row === NOBODY ? rowAfter(view, -1, 1) : rowTowards(view, row, DIRECTIONS[event.key]);
  } else if (event.key === "Home") next = rowAfter(view, -1, 1);
  else if (event.key === "End") next = rowAfter(view, view.n, -1);
  else if (event.key === "PageDown") next = rowAfter(view, row, 1);
  else if (event.key === "PageUp") next = rowAfter(view, row === NOBODY ? view.n : row, -1);
  else if (event.key === "Enter" || event.key === " ") {
    if (row !== NOBODY) togglePin(view, row);
  } else if (event.key === "Escape") {
    state.hovered = null;
    light(view, NOBODY, "pinned");
  } else if (event.key === "+" || event.key === "=") map.zoomBy(1.6);
  else if (event.key === "-") map.zoomBy(1 / 1.6);
  else if (event.key === "0") map.zoomBy(0);
  else return;
  event.preventDefault();
  if (next !== NOBODY) {
    map.show(next);
    light(view, next, "hovered");
    announce(view, next);
  }
}

function togglePin(view, row) {
  const { pinned } = state;
  const same = pinned && pinned.view === view && pinned.row === row;
  light(view, same ? NOBODY : row, "pinned");
}

// Tell a screen reader what has just been lit.
function announce(view, row) {
  const partners = views
    .filter((other) => other !== view)
    .map((other) => {
      const found = partner(view, row, other);
      return found === NOBODY ? `no partner in ${other.name}` : `${rowName(other, found)} in ${other.name}`;
    });
  const facts = [rowName(view, row), ...describe(view, row)].join(", ");
  document.getElementById("live").textContent = [facts, ...partners].join("; ");
}
