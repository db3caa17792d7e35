// The tables of annotators and items.

import { button, h, svg } from "./dom.js";
import { ago, decimal, percent, plural, seconds, whole } from "./numbers.js";

const TAGS = { informative: ".good", weak: ".warn", "one-sided": ".warn", random: ".bad", reversed: ".bad" };
const ONE_SIDED = 0.2; // how far from one half the share of left answers may be
const MOST = 500; // rows of a table

/** A table with a heading that says what it holds. */
export function tableOf(caption, columns, rows) {
  return h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption.hidden", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)),
        ),
      ),
      h("tbody", {}, rows),
    ),
  );
}

export function annotatorsTable(annotators, { isVoid, toggle }) {
  if (!annotators.length) return h("p.empty", {}, "Nobody has joined yet. Share the link from the invitations page.");
  const columns = [
    ["Annotator", ""],
    ["Judgments", "n"],
    ["Quality", ""],
    ["Verdict", ""],
    ["Gold checks", "n"],
    ["Median time", "n"],
    ["Left share", "n"],
    ["Last seen", ""],
    ["", ""],
  ];
  const rows = [...annotators]
    .sort((a, b) => b.judgments - a.judgments)
    .slice(0, MOST)
    .map((each) => annotatorRow(each, isVoid(each), toggle));
  return tableOf("Annotators", columns, rows);
}

function annotatorRow(each, voided, toggle) {
  const name = each.name || each.id;
  const lopsided = each.left_share != null && each.judgments >= 10 && Math.abs(each.left_share - 0.5) > ONE_SIDED;
  return h(
    `tr${voided ? ".void" : ""}`,
    { "data-annotator": each.id },
    h("th", { scope: "row" }, name, voided && h("span.tag.bad", {}, "void")),
    h("td.n", {}, whole(each.judgments)),
    h("td", {}, qualityOf(each)),
    h("td", {}, each.verdict ? h(`span.tag${TAGS[each.verdict] ?? ""}`, {}, each.verdict) : "–"),
    h("td.n", {}, each.gold_asked ? `${each.gold_right} of ${each.gold_asked}` : "–"),
    h("td.n", {}, seconds(each.seconds)),
    h(
      `td.n${lopsided ? ".warn" : ""}`,
      { title: lopsided ? "Answers mostly on one side" : null },
      percent(each.left_share),
    ),
    h("td", {}, ago(each.last_at)),
    h(
      "td.do",
      {},
      button(".small", voided ? "Restore" : "Void", () => toggle(each, voided), {
        "aria-label": `${voided ? "Restore" : "Void"} ${name}`,
      }),
    ),
  );
}

function qualityOf({ quality, quality_low: low, quality_high: high }) {
  if (quality == null) return "–";
  const words =
    low == null
      ? `quality ${decimal(quality)}`
      : `quality ${decimal(quality)}, between ${decimal(low)} and ${decimal(high)}`;
  return h(
    "span.quality",
    {},
    svg(
      "svg",
      { viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": words, class: "bar t1" },
      svg("line", { x1: 0, x2: 100, y1: 12, y2: 12, class: "track" }),
      low != null && svg("line", { x1: 100 * low, x2: 100 * high, y1: 12, y2: 12, class: "range" }),
      svg("line", { x1: 100 * quality, x2: 100 * quality, y1: 12, y2: 12, class: "dot" }),
    ),
    decimal(quality),
  );
}

export function itemsTable(items, { next, withdraw, restore }) {
  if (!items.length) return h("p.empty", {}, "The study has no items.");
  const tasks = items.some(({ task }) => task);
  const places = items.some(({ place }) => place);
  const columns = [
    ["Item", ""],
    tasks && ["Task", ""],
    ["Id", "wide"],
    places && ["Place", "wide"],
    ["Judgments", "n"],
    ["", ""],
  ].filter(Boolean);
  const rows = items.slice(0, MOST).map((item) => {
    const gone = item.state === "withdrawn";
    const name = item.title || item.id;
    return h(
      `tr${gone ? ".void" : ""}`,
      { "data-item": item.id },
      h(
        "th",
        { scope: "row" },
        name,
        gone && h("span.tag.bad", {}, "withdrawn"),
        item.next && h("span.tag.good", {}, "next"),
      ),
      tasks && h("td", {}, item.task),
      h("td.wide", {}, h("code", {}, item.id)),
      places && h("td.wide", {}, item.place || "–"),
      h("td.n", {}, whole(item.judgments)),
      h(
        "td.do",
        {},
        !gone &&
          button(".small", "Ask next", () => next(item), { "aria-label": `Ask the next annotator about ${name}` }),
        gone
          ? button(".small", "Restore", () => restore(item), { "aria-label": `Restore ${name}` })
          : button(".small", "Withdraw", () => withdraw(item), { "aria-label": `Withdraw ${name}` }),
      ),
    );
  });
  const rest = items.length > MOST && h("p.empty", {}, `and ${plural(items.length - MOST, "item")} more in the export`);
  return h("div", {}, tableOf("Items", columns, rows), rest);
}
