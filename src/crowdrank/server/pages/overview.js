// Figures and small pictures beside the ranking.

import { h, svg } from "./dom.js";
import { ago, clock, decimal, duration, money, percent, plural, sentence, whole } from "./numbers.js";

const WIDTH = 360;
const HEIGHT = 90;
const OPEN_RULES = { width: "Widest interval", budget: "Judgments" };

export function factsOf(status, stopping, consensus) {
  const facts = [
    [
      "Judgments",
      whole(status.judgments),
      status.budget ? `of ${whole(status.budget)}` : status.skipped ? `${whole(status.skipped)} skipped` : "",
    ],
    ["Annotators", whole(status.annotators), atWork(status.asked_now ?? [])],
    ["Items", whole(status.items), consensus ? tiersOf(consensus) : ""],
    ["Per hour", whole(status.per_hour), ""],
    status.cost && [
      "Cost",
      money(status.cost.amount, status.cost.currency),
      `${money(status.cost.per_judgment, status.cost.currency)} each`,
    ],
    stopping?.rules?.length && ["Still to ask", ...stillToAsk(stopping)],
  ];
  return facts
    .filter(Boolean)
    .map(([name, value, more]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more && h("small", {}, more))));
}

function tiersOf({ ranking }) {
  const tiers = new Set(ranking.map(({ task, tier }) => tier != null && `${task} ${tier}`).filter(Boolean));
  return tiers.size ? plural(tiers.size, "tier") : "";
}

/** The rule that is reached first ends the study. */
function stillToAsk({ rules, per_hour: speed }) {
  if (rules.some(({ reached }) => reached)) return ["0", "a rule is reached"];
  const known = rules.filter(({ more }) => more != null).map(({ more }) => more);
  if (!known.length) return ["–", "no forecast yet"];
  const more = Math.min(...known);
  return [whole(more), speed ? `about ${duration(more / speed)}` : ""];
}

export function forecast({ rules = [], notes = [], per_hour: speed }) {
  if (!rules.length) return [h("p.empty", {}, sentence(notes[0] ?? "the study has no stopping rule"))];
  return [...rules.map((rule) => ruleOf(rule, speed)), ...notes.map((note) => h("p.empty", {}, sentence(note)))];
}

function ruleOf({ rule, wanted, now, reached, more, more_low: low, more_high: high }, speed) {
  const falls = rule === "width";
  const done = reached ? 1 : Math.min(1, Math.max(0, falls ? (now ? wanted / now : 0) : wanted ? now / wanted : 0));
  const show = falls ? decimal : rule === "budget" ? whole : percent;
  const range = low != null && high != null && low !== high ? ` (${whole(low)}–${whole(high)})` : "";
  const rest = speed && more ? `, about ${duration(more / speed)} at this speed` : "";
  const words = reached
    ? "Reached."
    : more == null
      ? "More judgments than can be forecast."
      : `About ${whole(more)} more ${more === 1 ? "judgment" : "judgments"}${range}${rest}.`;
  return h(
    "div.rule",
    {},
    h(
      "p",
      {},
      h("b", {}, OPEN_RULES[rule] ?? `The ${rule} decided`),
      h("span", {}, falls ? `${show(now)}, wanted ${show(wanted)}` : `${show(now)} of ${show(wanted)}`),
    ),
    h("progress", { max: 1, value: done, "aria-label": `${rule}: ${percent(done)} of the way` }),
    h("p.words", { class: reached ? "words good" : "words" }, words),
  );
}

/** Bars: judgments in equal stretches of time. */
export function overTime({ over_time: buckets = [], judgments }) {
  if (!buckets.length || !judgments) return [h("p.empty", {}, "No judgments yet.")];
  const most = Math.max(...buckets.map(({ count }) => count), 1);
  const step = WIDTH / buckets.length;
  const bars = buckets.map(({ at, count }, index) => {
    const height = Math.max(count ? 2 : 0, (HEIGHT * count) / most);
    return svg(
      "rect",
      { x: index * step + step * 0.1, width: step * 0.8, y: HEIGHT - height, height, rx: Math.min(2, step / 4) },
      svg("title", {}, `${clock(at)}: ${count}`),
    );
  });
  const words = `${plural(judgments, "judgment")} from ${clock(buckets[0].at)} to ${clock(buckets.at(-1).at)}, at most ${most} in one of ${buckets.length} stretches`;
  return [
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        class: "times",
        role: "img",
        "aria-label": words,
      },
      bars,
    ),
    h("p.axis", {}, h("span", {}, clock(buckets[0].at)), h("span", {}, clock(buckets.at(-1).at))),
  ];
}

export function connectivity({ components, largest, unjudged, sentence: words }, items) {
  const connected = components <= 1 && !unjudged;
  return [
    h("p", { class: connected ? "good" : "warn" }, sentence(words)),
    !connected && h("p.empty", {}, `Largest group: ${whole(largest)} of ${whole(items)} items.`),
  ].filter(Boolean);
}

/** Questions are fetched ahead: the first of each annotator is the one on the screen. */
function onScreens(asked) {
  return [...new Map([...asked].reverse().map((each) => [each.annotator, each])).values()];
}

const atWork = (asked) => (asked.length ? `${onScreens(asked).length} at work now` : "");

export function askedNow(everything = []) {
  const asked = onScreens(everything);
  if (!asked.length) return [h("p.empty", {}, "Nobody has an open question.")];
  const shown = asked
    .slice(0, 8)
    .map(({ name, annotator, items, task, since }) =>
      h(
        "li",
        {},
        h("b", {}, name || annotator),
        h("span", {}, [task, items.join(" · ")].filter(Boolean).join(": ")),
        h("time", { datetime: since }, ago(since)),
      ),
    );
  const rest = asked.length > 8 && h("p.empty", {}, `and ${asked.length - 8} more`);
  return [h("ul.asked", {}, shown), rest].filter(Boolean);
}
