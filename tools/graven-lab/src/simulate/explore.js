"use strict";
// Draws the runs of one trace: a line a policy, cache size from left to right.
const RUNS = JSON.parse(document.getElementById("runs").textContent);
const at = (id) => document.getElementById(id);
const MEASURES = [
  ["hit_ratio", "hit ratio"],
  ["miss_ratio", "miss ratio"],
  ["faults", "faults"],
  ["share_of_min", "hits by those of Belady's optimum"],
  ["gap_closed", "share of the gap closed"],
];
const W = 900, H = 420, L = 76, R = 36, T = 16, B = 52;
const value = (run, key) => (key === "miss_ratio" ? 1 - run.hit_ratio : run[key]);
const distinct = (list) => [...new Set(list)];
const POLICIES = distinct(RUNS.map((run) => run.policy));
const color = (at) => `var(--c${at % 8})`;
// Neighbours differ in dashes, too: lines are told apart in grey.
const dash = (at) => ["", "7 4", "2 3", "9 3 2 3"][(at + Math.floor(at / 8)) % 4];
const chosen = () => POLICIES.filter((_, i) => at(`policy-${i}`).checked);
const shown = () => RUNS.filter((run) => run.trace === at("trace").value && chosen().includes(run.policy));

function make(parent, name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, of] of Object.entries(attributes)) node.setAttribute(key, of);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function ticks(low, high, log) {
  if (log) {
    const all = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
      for (const m of [1, 2, 5]) all.push(m * 10 ** p);
    return all.filter((x) => x >= low && x <= high);
  }
  const raw = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const all = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) all.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return all;
}

function draw() {
  const svg = at("chart"), key = at("measure").value, log = at("log").checked;
  svg.replaceChildren();
  at("readout").textContent = "";
  const runs = shown().filter((run) => Number.isFinite(value(run, key)));
  if (runs.length === 0) {
    make(svg, "text", { x: W / 2, y: H / 2, "text-anchor": "middle" }, "nothing to draw: choose a policy");
    return;
  }
  const xs = runs.map((run) => run.capacity_pages), ys = runs.map((run) => value(run, key));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  let [y0, y1] = [Math.min(0, ...ys), Math.max(...ys)];
  if (y0 === y1) y1 = y0 + 1;
  const f = log ? Math.log : (x) => x, span = f(x1) - f(x0) || 1;
  const px = (x) => (x0 === x1 ? (L + W - R) / 2 : L + ((f(x) - f(x0)) / span) * (W - L - R));
  const py = (y) => H - B - ((y - y0) / (y1 - y0)) * (H - T - B);
  for (const y of ticks(y0, y1, false)) {
    make(svg, "line", { x1: L, x2: W - R, y1: py(y), y2: py(y), class: "grid" });
    make(svg, "text", { x: L - 8, y: py(y) + 4, "text-anchor": "end" }, +y.toPrecision(4) + "");
  }
  for (const x of x0 === x1 ? [x0] : ticks(x0, x1, log))
    make(svg, "text", { x: px(x), y: H - B + 20, "text-anchor": "middle" }, x.toLocaleString("en"));
  make(svg, "text", { x: (L + W - R) / 2, y: H - 8, "text-anchor": "middle", class: "title" }, `pages of the cache, ${at("trace").value}`);
  const title = MEASURES.find(([name]) => name === key)[1];
  make(svg, "text", { x: 14, y: (T + H - B) / 2, "text-anchor": "middle", class: "title", transform: `rotate(-90 14 ${(T + H - B) / 2})` }, title);
  POLICIES.forEach((policy, i) => {
    const of = runs.filter((run) => run.policy === policy).sort((a, b) => a.capacity_pages - b.capacity_pages);
    if (of.length === 0) return;
    const points = of.map((run) => `${px(run.capacity_pages)},${py(value(run, key))}`).join(" ");
    const line = make(svg, "polyline", { points, class: "series", stroke: color(i), "stroke-dasharray": dash(i) });
    line.dataset.policy = policy;
    for (const run of of) make(svg, "circle", { cx: px(run.capacity_pages), cy: py(value(run, key)), r: 4, fill: color(i) });
  });
  svg.onpointermove = (event) => {
    const box = svg.getBoundingClientRect();
    const [mx, my] = [((event.clientX - box.left) / box.width) * W, ((event.clientY - box.top) / box.height) * H];
    const far = (run) => Math.hypot(px(run.capacity_pages) - mx, py(value(run, key)) - my);
    const near = runs.reduce((a, b) => (far(b) < far(a) ? b : a));
    svg.querySelectorAll(".series").forEach((line) => line.classList.toggle("near", line.dataset.policy === near.policy));
    at("readout").textContent =
      `${near.policy}, ${near.capacity_pages.toLocaleString("en")} pages: ${title} ${+value(near, key).toPrecision(5)}, ` +
      `${near.hits.toLocaleString("en")} hits of ${near.accesses.toLocaleString("en")} accesses`;
  };
}

function csv() {
  const columns = ["trace", "policy", "spec", "seed", "capacity_pages", "page_bytes", "accesses", "unique", "hits", "faults", "hit_ratio", "share_of_min", "gap_closed"];
  const cell = (of) => (of === null || of === undefined ? "" : /[",\n]/.test(of) ? `"${String(of).replaceAll('"', '""')}"` : of);
  const lines = [columns.join(",")].concat(shown().map((run) => columns.map((name) => cell(run[name])).join(",")));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  link.download = "simulate.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const trace of distinct(RUNS.map((run) => run.trace))) at("trace").append(new Option(trace, trace));
for (const [key, name] of MEASURES) at("measure").append(new Option(name, key));
POLICIES.forEach((policy, i) => {
  const label = document.createElement("label"), box = document.createElement("input");
  Object.assign(box, { type: "checkbox", id: `policy-${i}`, checked: i < 8 });
  label.append(box);
  const swatch = make(label, "svg", { width: 28, height: 6 });
  make(swatch, "line", { x1: 0, x2: 28, y1: 3, y2: 3, stroke: color(i), "stroke-width": 3, "stroke-dasharray": dash(i) });
  label.append(policy);
  at("policies").append(label);
});
const choose = (on) => { POLICIES.forEach((_, i) => { at(`policy-${i}`).checked = on; }); draw(); };
at("all").onclick = () => choose(true);
at("none").onclick = () => choose(false);
at("csv").onclick = csv;
at("explore").addEventListener("change", draw);
at("explore").hidden = false;
draw();
