"use strict";

// Tables: a button in each head of the last row sorts by its column; the order is told to readers.
const keyOf = (row, column) => {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  const key = cell.dataset.sort ?? text;
  return key === "" || Number.isNaN(Number(key)) ? text : Number(key);
};
const compare = (a, b) => {
  if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
};
const sortBy = (table, head, column) => {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column)));
  body.append(...(down ? rows.reverse() : rows));
};
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
// A column with intervals becomes one each for value, low, high and what is over paper.
const parts = { value: (c) => c.dataset.csv ?? c.dataset.sort ?? c.textContent.trim().replace(/\s+/g, " ") };
for (const part of ["low", "high", "paper"]) parts[part] = (c) => c.dataset[part] ?? "";
const suffixes = { low: "low", high: "high", paper: "over paper" };
const save = (table, name) => {
  const rows = [...table.tBodies[0].rows];
  const kinds = [...rows[0].cells].map((_, column) => {
    const used = Object.keys(parts).filter((part) => rows.some((row) => parts[part](row.cells[column])));
    return used.length ? used : ["value"];
  });
  const titles = [...table.tHead.rows].map((row) =>
    [...row.cells].flatMap((c) => Array(c.colSpan).fill(c.textContent.trim())));
  const head = kinds.flatMap((some, column) =>
    some.map((part) => [...titles.map((row) => row[column]), suffixes[part]].filter(Boolean).join(", ")));
  const line = (row) => kinds.flatMap((some, column) => some.map((part) => parts[part](row.cells[column])));
  const text = [head, ...rows.map(line)].map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
  const blob = new Blob([text], { type: "text/csv" });
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: `${name}.csv`,
  });
  link.click();
  URL.revokeObjectURL(link.href);
};
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows].at(-1).cells;
  for (const [column, head] of [...heads].entries()) {
    if (!head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head, column));
    head.append(button);
    if (table.tBodies[0].rows[0]?.cells[column].classList.contains("num")) head.classList.add("num");
  }
  const name = table.dataset.name ?? table.parentElement.getAttribute("aria-label").split(":")[0];
  const button = Object.assign(document.createElement("button"), {
    className: "save",
    textContent: "Download as CSV",
  });
  button.addEventListener("click", () => save(table, name));
  table.parentElement.after(button);
}

// A link to a cell's trials opens the fold they are in.
const unfold = () => {
  let fold = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
};
addEventListener("hashchange", unfold);
unfold();

// On paper nothing opens: what went wrong is printed whole.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll(".warnings details")) fold.open = true;
});

// Charts stand as pictures; each becomes interactive when it comes near the window. What draws them
// is run when the first does, so that opening the page does not wait for it.
const vega = document.getElementById("vega");
const draw = (target) => {
  if (!window.vegaEmbed)
    document.head.append(Object.assign(document.createElement("script"), { textContent: vega.textContent }));
  const spec = JSON.parse(target.parentElement.querySelector(".spec").textContent);
  const stage = document.createElement("div");
  window
    .vegaEmbed(stage, spec, { actions: false, renderer: "svg", tooltip: { disableDefaultStyle: true } })
    .then(() => target.replaceChildren(stage))
    .catch(() => {});
};
if (vega && "IntersectionObserver" in window) {
  const watch = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "300px" });
  for (const chart of document.querySelectorAll(".chart")) watch.observe(chart);
}
