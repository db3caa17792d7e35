// The ranking with its intervals and tiers, as a table whose rows glide to their new places.

import { button, calm, h, svg } from "./dom.js";
import { decimal, whole } from "./numbers.js";

const FIRST = 50; // rows shown at first
const WIDTH = 400;

let all = false;
let chosenTask = null;

/** Draws the ranking into `place` and the choice of a task into `tools`; how many items are ranked. */
export function drawRanking(consensus, place, tools) {
  const tasks = [...new Set(consensus.ranking.map(({ task }) => task))];
  if (!tasks.includes(chosenTask)) chosenTask = tasks[0];
  const again = () => drawRanking(consensus, place, tools);
  drawTools(tasks, tools, again);
  const rows = consensus.ranking.filter(({ task, withdrawn }) => task === chosenTask && !withdrawn);
  const ranked = rows.filter(({ rank }) => rank != null).sort((a, b) => a.rank - b.rank);
  if (!ranked.length) {
    place.replaceChildren(h("p.empty", {}, "The ranking appears with the first judgments."));
    return 0;
  }
  const before = placesOf(place);
  const shown = all ? ranked : ranked.slice(0, FIRST);
  const scale = scaleOf(ranked);
  const body = shown.map((row, index) => rowOf(row, shown[index - 1], scale));
  const more =
    ranked.length > shown.length && button("", `Show all ${whole(ranked.length)}`, () => ((all = true), again()));
  place.replaceChildren(
    h(
      "table.ranking",
      {},
      h("caption.hidden", {}, "Items from best to last, with 95 % intervals of their scores"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          headings.map(([text, name]) => h("th", { scope: "col", class: name }, text)),
        ),
      ),
      h("tbody", {}, body),
    ),
    ...(more ? [more] : []),
  );
  glide(place, before);
  return ranked.length;
}

const headings = [
  ["Rank", "rank"],
  ["Item", ""],
  ["Score with 95 % interval", "interval"],
  ["Score", "n wide"],
  ["Rank range", "n"],
  ["Judgments", "n wide"],
];

/** A list to choose from stays as it is while its tasks do: it may be open. */
function drawTools(tasks, tools, again) {
  let select = tools.querySelector("select");
  if (select?.options.length !== tasks.length) {
    const options = tasks.map((task) => h("option", { value: task, selected: task === chosenTask }, task));
    select = h("select", { "aria-label": "Task" }, options);
    tools.replaceChildren(...(tasks.length > 1 ? [select] : []));
  }
  select.onchange = () => ((chosenTask = select.value), again());
}

/** From scores to the picture's width. */
function scaleOf(rows) {
  const lows = rows.map(({ low, score }) => low ?? score);
  const highs = rows.map(({ high, score }) => high ?? score);
  const [least, most] = [Math.min(...lows), Math.max(...highs)];
  const span = most - least || 1;
  return (value) => 10 + ((WIDTH - 20) * (value - least)) / span;
}

function rowOf(row, above, at) {
  const newTier = row.tier != null && (!above || above.tier !== row.tier);
  const range =
    row.rank_low == null
      ? "–"
      : row.rank_low === row.rank_high
        ? `${row.rank_low}`
        : `${row.rank_low}–${row.rank_high}`;
  return h(
    `tr${newTier && above ? ".tier" : ""}`,
    { "data-item": row.item },
    h(
      "td.rank",
      {},
      h("b", {}, row.rank),
      newTier && h("span.tag", { title: "Items of a tier cannot be told apart yet" }, `Tier ${row.tier}`),
    ),
    h("th", { scope: "row" }, row.title || row.item),
    h("td.interval", {}, intervalOf(row, at)),
    h("td.n.wide", {}, decimal(row.score)),
    h("td.n", {}, range),
    h("td.n.wide", {}, whole(row.judgments)),
  );
}

function intervalOf({ score, low, high, tier }, at) {
  const words =
    low == null ? `score ${decimal(score)}` : `score ${decimal(score)}, between ${decimal(low)} and ${decimal(high)}`;
  const known = low != null && high != null;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} 24`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": words,
      class: `bar t${(tier ?? 1) % 2}`,
    },
    svg("line", { x1: 0, x2: WIDTH, y1: 12, y2: 12, class: "track" }),
    known && svg("line", { x1: at(low), x2: at(high), y1: 12, y2: 12, class: "range" }),
    svg("line", { x1: at(score), x2: at(score), y1: 12, y2: 12, class: "dot" }),
  );
}

function placesOf(place) {
  return new Map(
    [...place.querySelectorAll("tr[data-item]")].map((row) => [row.dataset.item, row.getBoundingClientRect().top]),
  );
}

function glide(place, before) {
  if (calm() || document.hidden) return;
  for (const row of place.querySelectorAll("tr[data-item]")) {
    const by = (before.get(row.dataset.item) ?? row.getBoundingClientRect().top) - row.getBoundingClientRect().top;
    if (by)
      row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], {
        duration: 500,
        easing: "cubic-bezier(.2,.8,.2,1)",
      });
  }
}
