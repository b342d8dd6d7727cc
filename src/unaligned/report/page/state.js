// State: what the reader chose, and who must know when that changes.

const state = {
  colouring: 0,
  threshold: null, // matches below this confidence are dimmed; null: none
  only: null, // the one category that is not dimmed
  hovered: null, // {view, row}
  pinned: null,
};

const listeners = { points: [], light: [] };

// "points": rows must be drawn anew. "light": another row is lit.
function on(what, listener) {
  listeners[what].push(listener);
}

function tell(what) {
  for (const listener of listeners[what]) listener();
}

function lit() {
  return state.hovered ?? state.pinned;
}

function light(view, row, how) {
  state[how] = row === NOBODY ? null : { view, row };
  tell("light");
}

function colouring() {
  return colourings[state.colouring];
}

// view.shown[row]: whether a row is among those the reader wants to see.
function chooseRows() {
  const { threshold, only } = state;
  const { codes, kind } = colouring();
  for (const view of views) {
    const isForeign = kind === "cluster" && !view.sharesClusters;
    const wanted = only === null || isForeign ? null : codes[view.index];
    const { shown, rowConfidence } = view;
    shown.fill(only === null || wanted !== null ? 1 : 0);
    if (wanted !== null) for (let row = 0; row < view.n; row++) shown[row] = wanted[row] === only;
    if (threshold !== null) for (let row = 0; row < view.n; row++) shown[row] &= rowConfidence[row] >= threshold;
  }
}

on("points", chooseRows);

// What can be said of a row in its own view.
function describe(view, row) {
  return colourings.map((way) => way.say(view, row)).filter((fact) => fact !== null);
}
