"use strict";
const turns = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("turns");
const search = document.getElementById("search");
const names = { turn_started: "turn started", model_asked: "model asked", model_answered: "model answered", model_failed: "model failed", call_started: "tool started", call_finished: "tool finished", slot_set: "slot set", spoke: "said", turn_ended: "turn ended", agent_asked: "handed over", agent_accepted: "task accepted", agent_said: "agent said", agent_answered: "agent answered", agent_in_background: "in the background" };
const after = { deliver_report: "(the agent reports about its task)", cancel_task: "(the task is cancelled at the agent)" };
const skipped = new Set(["at", "ms", "turn", "agent", "what", "conversation", "bad"]);
let current = -1;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function time(ms) {
  return ms >= 1000 ? (ms / 1000).toFixed(2) + " s" : Math.round(ms) + " ms";
}

function details(row) {
  return Object.entries(row)
    .filter(([key, value]) => !skipped.has(key) && value !== null && value !== "" && value !== false && !(Array.isArray(value) && !value.length))
    .map(([key, value]) => key + ": " + (typeof value === "string" ? value : JSON.stringify(value)))
    .join("\n");
}

function lanes(turn) {
  const box = element("div", "lanes");
  const end = Math.max(turn.ms, 1, ...turn.bars.map((bar) => bar.to));
  for (const bar of turn.bars) {
    const lane = element("div", "lane");
    const took = time(bar.to - bar.from) + (bar.note ? ", " + bar.note : "");
    const label = element("span", "", bar.name + " · " + took);
    label.title = label.textContent;
    lane.append(label);
    const track = element("div", "track");
    const shape = element("div", "bar " + bar.kind + (bar.bad ? " bad" : ""));
    shape.style.left = (bar.from / end) * 100 + "%";
    shape.style.width = ((bar.to - bar.from) / end) * 100 + "%";
    shape.title = bar.name + ": " + time(bar.from) + " to " + time(bar.to);
    if (bar.first) {
      const first = element("i");
      first.style.left = Math.min(100, (bar.first / Math.max(bar.to - bar.from, 1)) * 100) + "%";
      first.title = "first text after " + time(bar.first);
      shape.append(first);
    }
    track.append(shape);
    lane.append(track);
    box.append(lane);
  }
  return box;
}

function rows(turn) {
  const list = element("ul", "rows");
  for (const row of turn.rows) {
    const item = element("li");
    item.append(element("time", "", time(row.ms)));
    item.append(element("b", row.bad ? "bad" : "", names[row.what] || row.what));
    item.append(element("div", "", details(row)));
    list.append(item);
  }
  return list;
}

function card(turn, index) {
  const article = element("article");
  const top = element("button", "top");
  top.type = "button";
  top.append(element("span", "said", turn.user || after[turn.kind] || "(goes on without new words)"));
  top.append(element("span", "out " + turn.outcome, turn.outcome.replace("_", " ")));
  const about = turn.agent + (turn.kind ? " (external)" : "") + (turn.flow ? " in " + turn.flow : "") + " · " + new Date(turn.at).toLocaleString() + (turn.reason ? " · " + turn.reason : "");
  top.append(element("span", "about", about));
  top.append(element("span", "took", time(turn.ms) + (turn.tokens ? " · " + turn.tokens + " tokens" : "")));
  top.addEventListener("click", () => { select(index); toggle(article); });
  article.append(top, lanes(turn), rows(turn));
  top.setAttribute("aria-expanded", "false");
  return article;
}

function toggle(article, open) {
  const now = article.classList.toggle("open", open);
  article.querySelector(".top").setAttribute("aria-expanded", String(now));
}

const cards = turns.map(card);
const texts = turns.map((turn) => JSON.stringify(turn).toLowerCase());
place.append(...cards);

function visible() {
  return cards.map((_, index) => index).filter((index) => !cards[index].hidden);
}

function select(index) {
  if (cards[current]) cards[current].classList.remove("now");
  current = index;
  if (!cards[index]) return;
  cards[index].classList.add("now");
  cards[index].scrollIntoView({ block: "nearest" });
}

function move(step) {
  const shown = visible();
  if (!shown.length) return;
  const at = shown.indexOf(current);
  select(shown[Math.min(shown.length - 1, Math.max(0, at + step))]);
}

function unmark(root) {
  for (const mark of root.querySelectorAll("mark")) mark.replaceWith(mark.textContent);
  root.normalize();
}

function mark(root, wanted) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (walker.currentNode.data.toLowerCase().includes(wanted)) found.push(walker.currentNode);
  for (const node of found) {
    const start = node.data.toLowerCase().indexOf(wanted);
    const middle = node.splitText(start);
    middle.splitText(wanted.length);
    const shown = element("mark", "", middle.data);
    middle.replaceWith(shown);
  }
}

function filter() {
  const wanted = search.value.trim().toLowerCase();
  cards.forEach((article, index) => {
    unmark(article);
    article.hidden = wanted !== "" && !texts[index].includes(wanted);
    if (wanted && !article.hidden) { toggle(article, true); mark(article, wanted); }
  });
  document.getElementById("none").hidden = visible().length > 0;
}

function theme(next) {
  const dark = next === undefined ? document.documentElement.dataset.theme !== "dark" : next;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function openAll() {
  const open = cards.some((article) => !article.hidden && !article.classList.contains("open"));
  cards.forEach((article) => { if (!article.hidden) toggle(article, open); });
  document.getElementById("all").textContent = open ? "Close all" : "Open all";
}

const keys = { "/": () => search.focus(), j: () => move(1), k: () => move(-1), Enter: () => cards[current] && toggle(cards[current]), a: openAll, t: () => theme() };
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { search.value = ""; filter(); search.blur(); return; }
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
search.addEventListener("input", filter);
document.getElementById("theme").addEventListener("click", () => theme());
document.getElementById("all").addEventListener("click", openAll);
theme(new URLSearchParams(location.search).get("theme") ? new URLSearchParams(location.search).get("theme") === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

const models = turns.flatMap((turn) => turn.bars.filter((bar) => bar.kind === "model")).length;
const tools = turns.flatMap((turn) => turn.bars.filter((bar) => bar.kind === "tool")).length;
const handed = turns.filter((turn) => turn.kind === "external").length;
const errors = turns.reduce((sum, turn) => sum + turn.errors, 0);
const tokens = turns.reduce((sum, turn) => sum + (turn.tokens || 0), 0);
document.getElementById("sum").textContent = [turns.length + " agent turns", models + " model calls", tools + " tool calls", errors + " errors"].concat(handed ? ["with external agents: " + handed] : [], tokens ? [tokens + " tokens"] : []).join(" · ");
