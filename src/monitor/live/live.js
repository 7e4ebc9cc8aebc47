// Asks the monitor for the view, applies changes to it, and shows what changed. Text of a node is only ever set as
// textContent or as a class name of a fixed list. Tables of ends and of GPUs are made when somebody opens them: a fleet
// has thousands of rows and a screen shows forty.
"use strict";
const $ = id => document.getElementById(id);
const signs = {good: "✓", unknown: "?", warn: "!", bad: "✕", gone: "–"};
const words = {good: "healthy", unknown: "could not look", warn: "warning", bad: "broken", gone: "no answer"};
const healths = {fail: "bad", warn: "warn", unknown: "unknown"};
const openAtMost = 64;  // ends or GPUs that are shown unasked
const lostAfter = 15000;
let view = null, version = -1, feed = null, pictureVersion = -1, heard = 0, received = 0, asking = false;
const rails = [], nodes = [];

function make(tag, css, text) {
  const element = document.createElement(tag);
  if (css) element.className = css;
  if (text !== undefined) element.textContent = text;
  return element;
}
function put(element, text) { if (element.textContent !== text) element.textContent = text; }
function dress(element, css) { if (element.className !== css) element.className = css; }
function health(name) { return signs[name] ? name : "unknown"; }
function showHealth(element, name) {
  name = health(name);
  dress(element, name);
  put(element, signs[name] + " " + words[name]);
}
function scaled(value, unit, base) {
  if (value === null || value === undefined) return "–";
  const prefixes = ["", base === 1024 ? "Ki" : "k", base === 1024 ? "Mi" : "M", base === 1024 ? "Gi" : "G", base === 1024 ? "Ti" : "T"];
  let at = 0;
  while (value >= base && at < 4) { value /= base; ++at; }
  return (value === 0 ? "0" : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)) + " " + prefixes[at] + unit;
}
const rate = value => scaled(value, "B/s", 1000);
const bits = value => scaled(value, "b/s", 1000);
function span(seconds) {
  if (seconds < 90) return Math.max(0, Math.round(seconds)) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 129600) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " days";
}
// By the clock of who made the view: this one's may be wrong.
function now() { return view.made_at + (performance.now() - received) / 1000; }
function clock(seconds) {
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"});
  return now() - seconds < 64800 ? time : date.toLocaleDateString([], {day: "numeric", month: "short"}) + " " + time;
}
function sinceText(seconds) { return "since " + clock(seconds) + ", " + span(now() - seconds); }

function line(css) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "line " + css);
  svg.setAttribute("viewBox", "0 0 59 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  return svg;
}
function draw(svg, samples, full) {
  let most = full || 0, path = "", pen = "M";
  for (const one of samples) if (one > most) most = one;
  samples.forEach((one, i) => {
    if (one === null) { pen = "M"; return; }
    path += pen + (60 - samples.length + i) + " " + (19 - (most ? 18 * one / most : 0)).toFixed(1);
    pen = "L";
  });
  svg.firstChild.setAttribute("d", path);
}

function apply(value, change) {
  if ("=" in change) return change["="];
  if ("+" in change) { value.splice(0, change["-"]); value.push(...change["+"]); return value; }
  for (const key in change["*"]) value[key] = apply(value[key], change["*"][key]);
  return value;
}

// The heading.
function showHead() {
  const first = view.findings[0];
  dress($("head"), "live " + health(view.health));
  put($("title"), view.title);
  put($("sentence"), view.sentence + ".");
  document.title = (first && first.status === "fail" ? "✕ " : "") + view.title + ": " + view.sentence;
  const story = [];
  if (first) {
    if (first.since !== null) story.push("It is so " + sinceText(first.since) + ".");
    if (first.changes_before.length) story.push("Before it: " + first.changes_before[0] + ".");
    if (first.remedy) story.push(first.remedy);
  }
  put($("todo"), story.join(" "));
  const silent = view.nodes.filter(one => !one.reachable).length;
  const list = [["bad", view.failures, "failure"], ["warn", view.warnings, "warning"], ["unknown", view.unknown, "thing not looked at", "things not looked at"],
    ["gone", silent, "node without an answer", "nodes without an answer"], ["good", view.passed, "check passed", "checks passed"]];
  $("tallies").replaceChildren(...list.filter(one => one[1]).map(([css, count, name, many]) =>
    make("li", css, signs[css] + " " + count + " " + (count === 1 ? name : many || (name.startsWith("check") ? "checks passed" : name + "s")))));
}
function showMade() {
  if (!view) return;
  put($("made"), view.nodes.length + (view.nodes.length === 1 ? " node" : " nodes") + " · " + new Date(view.made_at * 1000).toLocaleTimeString());
}

// Findings.
function copyButton(text) {
  const button = make("button", "", "Copy");
  button.type = "button";
  button.addEventListener("click", () => navigator.clipboard.writeText(text).then(
    () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); },
    () => { button.textContent = "Not copied"; }));
  return button;
}
function findingBox(one) {
  const css = healths[one.status] || "unknown";
  const box = make("article", "finding " + css);
  box.tabIndex = 0;
  box.dataset.key = one.rule + "\n" + one.nodes.join(",") + "\n" + one.subject;
  const status = make("p", "status", signs[css] + " " + words[css]);
  status.append(make("span", "rule", one.rule));
  box.append(status, make("h3", "", one.headline));
  if (one.since !== null) {
    let text = sinceText(one.since);
    if (one.times_before) text += " · it had come " + one.times_before + (one.times_before === 1 ? " time" : " times") + " before";
    if (one.flapping_since !== null) text += " · it comes and goes: " + one.flaps + " changes " + sinceText(one.flapping_since);
    const since = make("p", "since", text);
    since.title = new Date(one.since * 1000).toISOString();
    box.append(since);
  }
  if (one.changes_before.length) {
    const list = make("ul", "before");
    for (const text of one.changes_before) list.append(make("li", "", text));
    box.append(make("p", "since", "What changed before it:"), list);
  }
  if (one.remedy) box.append(make("p", "", one.remedy));
  if (one.commands.length) {
    const pre = make("pre");
    pre.tabIndex = 0;
    pre.append(make("code", "", one.commands.join("\n")));
    const commands = make("div", "commands");
    commands.append(pre);
    if (navigator.clipboard) commands.append(copyButton(one.commands.join("\n")));
    box.append(commands);
  }
  if (one.explains) box.append(make("p", "quiet", "It explains " + one.explains + (one.explains === 1 ? " more finding." : " more findings.")));
  return box;
}
function showFindings() {
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : undefined;
  const boxes = view.findings.map(findingBox);
  if (!boxes.length) boxes.push(make("p", "quiet", "There is none."));
  if (view.findings_left_out) boxes.push(make("p", "quiet", view.findings_left_out + " more are not shown: railbed verify lists them."));
  $("findings").replaceChildren(...boxes);
  if (focused !== undefined) { const again = boxes.find(one => one.dataset.key === focused); if (again) again.focus({preventScroll: true}); }
}
function refreshSince() {
  if (!view) return;
  showHead();
  view.findings.forEach((one, i) => {
    const box = $("findings").children[i], since = box && box.querySelector(".since");
    if (since && one.since !== null) since.firstChild.data = since.firstChild.data.replace(/^[^·]*/, sinceText(one.since) + (since.textContent.includes("·") ? " " : ""));
  });
}

// A box that is filled when it is opened.
function openable(css, cells, fill) {
  const box = make("details", css), summary = make("summary");
  cells.forEach(one => summary.append(one));
  box.append(summary);
  box.addEventListener("toggle", () => { if (box.open) fill(); });
  return box;
}
function table(heads) {
  const scroll = make("div", "scroll"), whole = make("table", "rates"), head = make("thead"), row = make("tr"), body = make("tbody");
  scroll.tabIndex = 0;
  for (const name of heads) { const cell = make("th", "", name); cell.scope = "col"; row.append(cell); }
  head.append(row);
  whole.append(head, body);
  scroll.append(whole);
  return {scroll, body};
}

// Rails.
function endRow() {
  const row = make("tr"), cells = {};
  for (const name of ["node", "port", "state", "health", "rate", "mtu", "receive", "transmit", "errors"]) row.append(cells[name] = make("td"));
  for (const name of ["receive", "transmit", "errors"]) {
    cells[name + "Text"] = make("span");
    cells[name].append(cells[name + "Text"], cells[name + "Line"] = line(name === "errors" ? "bad" : name === "transmit" ? "tcp" : ""));
  }
  cells.mark = make("span");
  cells.health.append(cells.mark);
  return {row, cells};
}
function wanted(cell, text, want, differs) {
  cell.replaceChildren(make("span", differs ? "off" : "", text));
  if (differs) cell.append(" of " + want);
}
function showEnd({row, cells}, end) {
  const node = view.nodes.find(one => one.name === end.node);
  dress(row, node && (!node.reachable || node.count_age === null || node.count_age > 30) ? "stale" : "");
  put(cells.node, end.node);
  put(cells.port, end.interface + (end.device ? " · " + end.device : ""));
  put(cells.state, end.state || "–");
  showHealth(cells.mark, end.health);
  row.title = end.trouble;
  wanted(cells.rate, bits(end.rate), bits(end.expected_rate), end.rate !== null && end.expected_rate !== null && end.rate !== end.expected_rate);
  wanted(cells.mtu, end.mtu === null ? "–" : String(end.mtu), String(end.expected_mtu), end.mtu !== null && end.expected_mtu !== null && end.mtu !== end.expected_mtu);
  put(cells.receiveText, rate(end.receive));
  put(cells.transmitText, rate(end.transmit));
  put(cells.errorsText, end.errors.length ? end.errors.map(one => one.counter + " " + one.a_second + "/s").join(", ") : end.receive === null ? "–" : "none");
  draw(cells.receiveLine, end.receive_samples);
  draw(cells.transmitLine, end.transmit_samples);
  draw(cells.errorsLine, end.error_samples.some(Boolean) ? end.error_samples : []);
}
function makeRail(index) {
  const cells = {}, rows = [];
  for (const name of ["name", "health", "receive", "transmit", "errors"]) cells[name] = make("span");
  cells.title = make("span", "name"); cells.kind = make("span", "quiet");
  cells.name.append(cells.title, " ", cells.kind);
  cells.mark = make("span"); cells.health.append(cells.mark);
  const box = openable("rail-box", [cells.name, cells.health, cells.receive, cells.transmit, cells.errors], () => fill());
  function fill() {
    if (rows.length) return;
    const {scroll, body} = table(["Node", "Port", "State", "Health", "Rate", "MTU", "In", "Out", "Errors"]);
    const ends = view.rails[index].ends;
    box.append(scroll);
    later(ends.length, i => { const made = endRow(); rows.push(made); showEnd(made, view.rails[index].ends[i]); body.append(made.row); });
  }
  return {box, cells, rows, forget() { rows.length = 0; while (box.children.length > 1) box.lastChild.remove(); if (box.open) fill(); }};
}
// A few at a time, so that keys and scrolling go on.
function later(count, work, from = 0) {
  const until = Math.min(count, from + 25);
  for (let i = from; i < until; ++i) work(i);
  if (until < count) setTimeout(() => later(count, work, until), 0);
}
function showRail(made, rail) {
  let receive = null, transmit = null, errors = 0;
  for (const end of rail.ends) {
    if (end.receive !== null) receive = (receive || 0) + end.receive;
    if (end.transmit !== null) transmit = (transmit || 0) + end.transmit;
    for (const one of end.errors) errors += one.a_second;
  }
  put(made.cells.title, rail.name || "RDMA interfaces");
  put(made.cells.kind, (rail.kind ? rail.kind + " · " : "") + rail.ends.length + (rail.ends.length === 1 ? " end" : " ends"));
  showHealth(made.cells.mark, rail.health);
  put(made.cells.receive, "in " + rate(receive));
  put(made.cells.transmit, "out " + rate(transmit));
  dress(made.cells.errors, errors ? "bad" : "quiet");
  put(made.cells.errors, errors ? errors.toFixed(errors < 10 ? 1 : 0) + " errors/s" : receive === null ? "" : "no errors");
}
function showRails(change) {
  const parts = change && change["*"];
  if (rails.length !== view.rails.length || !parts) {
    const ends = view.rails.reduce((sum, one) => sum + one.ends.length, 0);
    const open = rails.map(one => one.box.open);
    rails.length = 0;
    $("rails").replaceChildren(...view.rails.map((one, i) => { rails.push(makeRail(i)); return rails[i].box; }));
    view.rails.forEach((one, i) => { showRail(rails[i], one); rails[i].box.open = open.length ? Boolean(open[i]) : ends <= openAtMost; });
    if (!rails.length) $("rails").replaceChildren(make("p", "quiet", "No rail is known, and no RDMA interface was found."));
    return;
  }
  for (const i in parts) {
    const made = rails[i];
    showRail(made, view.rails[i]);
    const ends = parts[i]["*"] && parts[i]["*"].ends;
    if (!made.rows.length) continue;
    if (ends && ends["*"]) for (const e in ends["*"]) { if (made.rows[e]) showEnd(made.rows[e], view.rails[i].ends[e]); }
    else if (ends || "=" in parts[i]) made.forget();
  }
}

// Nodes and their GPUs.
function makeNode(index) {
  const cells = {}, rows = [];
  for (const name of ["name", "health", "text", "gpu"]) cells[name] = make("span");
  cells.title = make("span", "name"); cells.name.append(cells.title);
  cells.mark = make("span"); cells.health.append(cells.mark);
  const box = openable("node-box", [cells.name, cells.health, cells.text, cells.gpu], () => fill());
  function fill() {
    if (rows.length) return;
    const gpus = view.nodes[index].gpus;
    if (!gpus.length) { if (box.children.length < 2) box.append(make("p", "quiet", "It shows no GPU.")); return; }
    const {scroll, body} = table(["GPU", "Model", "Health", "Busy", "Temperature", "Power", "Memory"]);
    for (const gpu of gpus) {
      const row = make("tr"), own = {};
      for (const name of ["address", "model", "health", "busy", "temperature", "power", "memory"]) row.append(own[name] = make("td"));
      own.mark = make("span"); own.health.append(own.mark);
      own.busyText = make("span"); own.busy.append(own.busyText, own.busyLine = line(""));
      rows.push({row, cells: own});
      showGpu(rows[rows.length - 1], gpu);
      body.append(row);
    }
    box.append(scroll);
  }
  return {box, cells, rows, forget() { rows.length = 0; while (box.children.length > 1) box.lastChild.remove(); if (box.open) fill(); }};
}
function showGpu({row, cells}, gpu) {
  const number = (value, unit) => value === null ? "–" : Math.round(value) + unit;
  put(cells.address, gpu.pci_address);
  put(cells.model, gpu.model);
  showHealth(cells.mark, gpu.health);
  row.title = gpu.trouble;
  put(cells.busyText, number(gpu.utilisation, " %"));
  draw(cells.busyLine, gpu.utilisation_samples, 100);
  put(cells.temperature, number(gpu.temperature, " °C"));
  put(cells.power, number(gpu.power, "") + (gpu.power_limit === null ? "" : " of " + Math.round(gpu.power_limit)) + " W");
  if (gpu.power === null) put(cells.power, "–");
  put(cells.memory, gpu.memory_used === null ? "–" : scaled(gpu.memory_used, "B", 1024) + " of " + scaled(gpu.memory, "B", 1024));
}
function showNode(made, node) {
  put(made.cells.title, node.name);
  showHealth(made.cells.mark, node.health);
  let text = node.system;
  if (!node.reachable) text = node.why + (node.asked_again ? "; asked again " + node.asked_again : "");
  else if (node.count_age !== null && node.count_age > 30) text = "nothing new for " + span(node.count_age);
  const faults = [[node.failures, "broken"], [node.warnings, "warned of"]].filter(one => one[0]).map(one => one[0] + " " + one[1]);
  put(made.cells.text, [text, ...faults].filter(Boolean).join(" · "));
  dress(made.cells.text, node.reachable ? "quiet" : "bad");
  const busy = node.gpus.filter(one => one.utilisation !== null);
  put(made.cells.gpu, !node.gpus.length ? "no GPU" : node.gpus.length + (node.gpus.length === 1 ? " GPU" : " GPUs") +
    (busy.length ? ", " + Math.round(busy.reduce((sum, one) => sum + one.utilisation, 0) / busy.length) + " % busy" : ""));
  dress(made.box, "node-box" + (node.reachable && node.count_age !== null && node.count_age > 30 ? " stale" : "") +
    (node.health === "good" ? "" : " first"));
}
function showNodes(change) {
  const parts = change && change["*"];
  if (nodes.length !== view.nodes.length || !parts) {
    const gpus = view.nodes.reduce((sum, one) => sum + one.gpus.length, 0);
    const open = nodes.map(one => one.box.open);
    nodes.length = 0;
    $("nodes").replaceChildren(...view.nodes.map((one, i) => { nodes.push(makeNode(i)); return nodes[i].box; }));
    view.nodes.forEach((one, i) => { showNode(nodes[i], one); nodes[i].box.open = open.length ? Boolean(open[i]) : gpus > 0 && gpus <= openAtMost; });
    return;
  }
  for (const i in parts) {
    const made = nodes[i];
    showNode(made, view.nodes[i]);
    const gpus = parts[i]["*"] && parts[i]["*"].gpus;
    if (gpus && gpus["*"]) { for (const g in gpus["*"]) if (made.rows[g]) showGpu(made.rows[g], view.nodes[i].gpus[g]); }
    else if (gpus || "=" in parts[i]) made.forget();
  }
}

function showEvents() {
  $("events").replaceChildren(...view.events.slice(0, 100).map(one => {
    const item = make("li"), time = make("span", "quiet", clock(Date.parse(one.time) / 1000));
    const about = [one.node, one.subject].filter(Boolean).join(" ");
    time.title = one.time;
    item.append(time, make("span", one.kind === "gone" ? "good" : one.kind === "appeared" ? healths[one.status] || "" : "quiet", one.kind),
      make("span", "", (about && !one.message.includes(about) ? about + ": " : "") + one.message));
    return item;
  }));
  if (!view.events.length) $("events").replaceChildren(make("li", "quiet", "Nothing happened since the watch began."));
}

async function showPicture() {
  const wanted = pictureVersion;
  const text = await (await fetch("picture")).text();
  if (wanted !== pictureVersion) return;
  const drawn = new DOMParser().parseFromString(text, "text/html");
  $("picture").replaceChildren(...[...drawn.body.childNodes].map(one => document.importNode(one, true)));
}

function show(change) {
  const parts = change ? change["*"] || {} : null;
  const has = name => !parts || name in parts;
  showMade();
  if (!parts || ["sentence", "health", "findings", "title", "failures", "warnings", "unknown", "passed", "nodes"].some(name => name in parts)) showHead();
  if (has("findings") || has("findings_left_out")) showFindings();
  if (has("rails") || has("nodes")) { if (has("rails")) showRails(parts && parts.rails); }
  if (has("nodes")) showNodes(parts && parts.nodes);
  if (has("events")) showEvents();
}

function alive() {
  heard = performance.now();
  $("lost").hidden = true;
  document.body.classList.remove("stale");
}
function lost(why) {
  $("lost").textContent = why + " What is shown is from " + (view ? new Date(view.made_at * 1000).toLocaleTimeString() : "nowhere") + "; the page goes on by itself.";
  $("lost").hidden = false;
  document.body.classList.add("stale");
}

async function askWhole() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch("live.json", {cache: "no-store"});
    if (!answer.ok) throw new Error("HTTP " + answer.status);
    const whole = await answer.json();
    view = whole.view; version = whole.version; feed = whole.feed; received = performance.now();
    show(null);
    if (whole.picture !== pictureVersion) { pictureVersion = whole.picture; await showPicture(); }
    alive();
    performance.mark("railbed-shown");
  } catch (error) {
    lost("The monitor does not answer.");
  }
  asking = false;
}
function take(message) {
  alive();
  if (message.feed !== feed || message.from !== version) { if (message.to !== version || message.feed !== feed) askWhole(); return; }
  const begun = performance.now();
  version = message.to;
  if (message.change) {
    const parts = message.change["*"] || {};
    received = performance.now();
    if (parts.view) { view = apply(view, parts.view); show(parts.view); }
    if (parts.picture) { pictureVersion = parts.picture["="]; showPicture().catch(() => {}); }
  }
  performance.measure("railbed-update", {start: begun, end: performance.now()});
}
let source = null;
function listen() {
  source = new EventSource("live");
  source.onmessage = event => take(JSON.parse(event.data));
  source.onerror = () => {
    lost("The connection to the monitor is lost.");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
}

function step(by) {
  const boxes = [...document.querySelectorAll(".finding")];
  if (!boxes.length) return;
  const at = boxes.indexOf(document.activeElement.closest(".finding"));
  const next = boxes[Math.min(boxes.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({block: "nearest"});
}
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const inFinding = document.activeElement && document.activeElement.classList.contains("finding");
  if (event.key === "j" || (event.key === "ArrowDown" && inFinding)) { step(1); event.preventDefault(); }
  else if (event.key === "k" || (event.key === "ArrowUp" && inFinding)) { step(-1); event.preventDefault(); }
  else if (event.key === "g") scrollTo(0, 0);
  else if (event.key === "o") { const boxes = [...rails, ...nodes].map(one => one.box), open = !boxes.some(one => one.open); boxes.forEach(one => { one.open = open; }); }
  else if (event.key === "?") $("help").showModal();
});
$("keys").addEventListener("click", () => $("help").showModal());
setInterval(() => { if (heard && performance.now() - heard > lostAfter) lost("Nothing has come from the monitor for " + span((performance.now() - heard) / 1000) + "."); }, 3000);
setInterval(refreshSince, 20000);
addEventListener("beforeprint", () => { for (const one of [...rails, ...nodes]) one.box.open = true; });
askWhole().then(listen);
