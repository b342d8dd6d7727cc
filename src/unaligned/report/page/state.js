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

// Whether a row is among those the reader wants to see.
function isShown(view, row) {
  if (state.threshold !== null && !(view.sureness[row] >= state.threshold)) return false;
  if (state.only === null) return true;
  const { codes, kind } = colouring();
  if (kind === "cluster" && !view.sharesClusters) return false;
  return codes[view.index] !== null && codes[view.index][row] === state.only;
}

// What can be said of a row in its own view.
function describe(view, row) {
  return colourings.map((way) => way.say(view, row)).filter((fact) => fact !== null);
}
