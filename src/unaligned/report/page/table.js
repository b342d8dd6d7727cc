// Table: every match a line, to search, sort and take away.

const PAGE = 20;

// A line is a number: which of the other views, and which row of the template.
const allLines = new Uint32Array(nMatches);
const confidences = new Float32Array(others.length * template.n); // by line
let nLines = 0;
others.forEach((view, i) => {
  confidences.set(view.confidence, i * template.n);
  view.partners.forEach((row, place) => {
    if (row !== NOBODY) allLines[nLines++] = i * template.n + place;
  });
});

function lineAt(line) {
  const view = others[Math.floor(line / template.n)];
  const place = line % template.n;
  return { view, place, row: view.partners[place], confidence: confidences[line] };
}

// sorted: all lines in their order; lines: those of them that are not left out.
const table = { sorted: allLines, lines: allLines, first: 0, sort: null, descending: false };

const HEADINGS = [
  { name: `Row of ${template.name}`, key: ({ place }) => (template.ids ? template.ids[place] : place) },
  ...(template.labels ? [{ name: "Cluster", className: "its-cluster", key: ({ place }) => template.labels[place] }] : []),
  { name: "View", key: ({ view }) => view.index },
  { name: "Row of that view", key: ({ view, row }) => (view.ids ? view.ids[row] : row) },
  ...(template.labels ? [{ name: "Its cluster", className: "its-cluster", key: ({ view, row }) => view.labels[row] }] : []),
  { name: "Confidence", key: ({ confidence }) => confidence },
];

const search = document.getElementById("search");
const onlyView = document.getElementById("only-view");
const body = document.querySelector("#match-table tbody");

function filterLines() {
  const sought = search.value.trim().toLowerCase();
  const least = state.threshold ?? -Infinity;
  const first = onlyView.value === "" ? 0 : Number(onlyView.value) * template.n;
  const last = onlyView.value === "" ? Infinity : first + template.n;
  const isSought = (line) => {
    const { view, place, row } = lineAt(line);
    return [idOf(template, place), idOf(view, row)].some((id) => id.toLowerCase().includes(sought));
  };
  const kept = new Uint32Array(nMatches);
  let n = 0;
  for (const line of table.sorted) {
    if (confidences[line] < least || line < first || line >= last) continue;
    if (sought === "" || isSought(line)) kept[n++] = line;
  }
  table.lines = kept.subarray(0, n);
  table.first = 0;
  fillTable();
}

function sortLines() {
  const { key } = HEADINGS[table.sort];
  const keys = new Array(confidences.length);
  for (const line of allLines) keys[line] = key(lineAt(line));
  const sign = table.descending ? -1 : 1;
  table.sorted = allLines.slice().sort((a, b) => {
    const one = keys[a], other = keys[b];
    return one < other ? -sign : one > other ? sign : a - b;
  });
}

function fillTable() {
  const { lines, first } = table;
  const shown = lines.slice(first, first + PAGE);
  body.replaceChildren(...Array.from(shown, tableRow));
  document.getElementById("range").textContent = lines.length
    ? `${count(first + 1)}–${count(first + shown.length)} of ${count(lines.length)}`
    : "No match fits.";
  document.getElementById("previous").disabled = first === 0;
  document.getElementById("next").disabled = first + PAGE >= lines.length;
  const download = document.getElementById("download");
  download.disabled = !lines.length;
  download.textContent = `Download ${count(lines.length)} as CSV`;
  markLit();
}

function tableRow(line) {
  const { view, place, row, confidence } = lineAt(line);
  const made = document.createElement("tr");
  made.dataset.place = place;
  const link = element("button", "link", idOf(template, place));
  link.type = "button";
  link.title = "Show on the maps";
  link.addEventListener("click", () => {
    light(template, place, "pinned");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    grid.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "nearest" });
  });
  const cells = [link];
  if (template.labels) cells.push(clusterMark(template, place));
  cells.push(view.name, idOf(view, row));
  if (template.labels) cells.push(clusterMark(view, row));
  cells.push(confidenceMark(confidence, view.level));
  cells.forEach((content, i) => {
    const cell = made.insertCell();
    cell.className = HEADINGS[i].className ?? "";
    cell.append(content);
  });
  return made;
}

function clusterMark(view, row) {
  const mark = element("span", "cluster", "");
  const label = view.labels[row];
  mark.append(swatch(label), element("span", "", String(label)));
  return mark;
}

function confidenceMark(confidence, level) {
  const mark = element("span", "meter", "");
  const bar = element("span", `bar ${level}`, "");
  const filled = element("i", "", "");
  filled.style.width = `${100 * confidence}%`;
  bar.append(filled);
  mark.append(bar, element("span", "figure", confidence > 0 && confidence < 0.01 ? "< 0.01" : decimal(confidence)));
  return mark;
}

// The lines of the row that is kept lit.
function markLit() {
  const { pinned } = state;
  const place = pinned ? partner(pinned.view, pinned.row, template) : NOBODY;
  for (const row of body.rows) {
    row.classList.toggle("lit", place !== NOBODY && Number(row.dataset.place) === place);
  }
}

function drawHeadings() {
  const row = document.createElement("tr");
  HEADINGS.forEach((heading, i) => {
    const cell = element("th", heading.className, "");
    cell.scope = "col";
    const isSorted = table.sort === i;
    if (isSorted) cell.setAttribute("aria-sort", table.descending ? "descending" : "ascending");
    const button = element("button", "sort", heading.name);
    button.type = "button";
    button.addEventListener("click", () => {
      // Numbers are asked for from the top, names from the beginning.
      table.descending = isSorted ? !table.descending : heading.name === "Confidence";
      table.sort = i;
      drawHeadings();
      sortLines();
      filterLines();
      document.querySelectorAll("#match-table .sort")[i].focus();
    });
    cell.append(button);
    row.append(cell);
  });
  document.querySelector("#match-table thead").replaceChildren(row);
}

// A cell that a spreadsheet will neither split nor take for a formula. Spreadsheets pass over
// blanks and invisible characters before a formula, and read full-width signs as the common ones.
function csvCell(value) {
  let text = String(value);
  const first = text.replace(/^[\s\p{C}\p{Z}]+/u, "").slice(0, 1).normalize("NFKC");
  if (/^[=+\-@\u2212]/.test(first) || /^[\t\r\n]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(lines) {
  const clustered = template.labels !== null;
  const head = ["template_view", "template_row", "template_id", "view", "row", "id", "confidence", "trust", "verdict"];
  if (clustered) head.push("template_cluster", "cluster");
  const records = Array.from(lines, (line) => {
    const { view, place, row, confidence } = lineAt(line);
    const cells = [template.name, place, idOf(template, place), view.name, row, idOf(view, row)].map(csvCell);
    cells.push(Number(confidence.toPrecision(6)), view.trust ?? "", view.verdict);
    if (clustered) cells.push(template.labels[place], view.labels[row]);
    return cells.join(",");
  });
  return [head.join(","), ...records, ""].join("\r\n");
}

function downloadLines() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(table.lines)], { type: "text/csv" }));
  link.download = "matches.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function turnPage(step) {
  table.first = Math.max(0, table.first + step * PAGE);
  fillTable();
}

if (nMatches) {
  for (const id of ["table-tools", "match-table", "pages"]) document.getElementById(id).hidden = false;
  onlyView.add(new Option("All views", ""));
  others.forEach((view, i) => onlyView.add(new Option(view.name, i)));
  onlyView.hidden = others.length < 2;
  if (!slider.disabled) {
    document.getElementById("matches-hint").textContent = "The slider above leaves out matches here, too.";
  }
  search.addEventListener("input", filterLines);
  onlyView.addEventListener("change", filterLines);
  document.getElementById("download").addEventListener("click", downloadLines);
  document.getElementById("previous").addEventListener("click", () => turnPage(-1));
  document.getElementById("next").addEventListener("click", () => turnPage(1));
  on("light", markLit);
  slider.addEventListener("input", filterLines);
  drawHeadings();
  filterLines();
} else {
  document.getElementById("matches-hint").textContent = "No rows are matched.";
}
