// What is on the annotator's screen.

import { button, find, h, key } from "./dom.js";
import { isShort, markScrolling } from "./content.js";
import { gradeQuestion } from "./grades.js";
import { once, pairQuestion } from "./pairs.js";
import { rankingQuestion } from "./rankings.js";
import { t } from "./words.js";

const QUESTIONS = { pairs: pairQuestion, grades: gradeQuestion, rankings: rankingQuestion };
const NOTICE = 7000; // milliseconds

let keys = {};
let hiding = 0;

/** For screen readers, without moving the focus. */
export const say = (text) => {
  find("#live").textContent = text;
};

/** Messages of the server begin in lower case. */
export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

/** A message that goes away. */
export function notify(text) {
  const notice = find("#notice");
  notice.textContent = capital(text);
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (notice.hidden = true), NOTICE);
}

/** A question with what can be done about it: `submit(fields)`, `skip()`, `undo()`, and `leave` for the banner. */
export function showQuestion(question, study, { answer, banner, leave, submit, skip, undo }) {
  const make = QUESTIONS[question.kind ?? study.kind];
  const asked = make(question, { ties: study.ties, scale: study.scale ?? [], answer, submit, say });
  keys = { ...asked.keys, ...(skip && { s: skip }), ...(undo && { u: undo }) };
  showBanner(banner, leave);
  const title = h("h1", { id: "question", tabindex: "-1" }, study.question);
  const task = question.task && h("p.task", {}, question.task);
  const size = isShort(question.items) ? ".short" : "";
  const stage = h(
    `section.stage.${question.kind ?? study.kind}${size}`,
    { "aria-labelledby": "question", "data-question": question.id },
    asked.element,
  );
  find("#main").replaceChildren(h("div.asking", {}, title, task), stage);
  find("#bar").replaceChildren(
    undo ? button(".action.quiet", [key("U"), t("undo")], (event) => once(event) && undo()) : h("span"),
    h("div.answers-bar", {}, asked.actions),
    skip ? button(".action.quiet", [key("S"), t("skip")], (event) => once(event) && skip()) : h("span"),
  );
  find("#bar").hidden = false;
  scrollTo(0, 0);
  title.focus({ preventScroll: true });
  requestAnimationFrame(() => markScrolling(stage));
  for (const picture of stage.querySelectorAll("img")) picture.addEventListener("load", () => markScrolling(stage));
}

function showBanner(text, leave) {
  const banner = find("#banner");
  banner.hidden = !text;
  banner.replaceChildren(
    ...(text ? [h("span", {}, text), leave && button(".quiet", leave.text, leave.action)].filter(Boolean) : []),
  );
}

/** A page of words: welcome, thanks, a break. */
export function showWords(title, ...content) {
  keys = {};
  showBanner();
  find("#bar").hidden = true;
  const heading = h("h1", { tabindex: "-1" }, title);
  find("#main").replaceChildren(h("section.words", {}, heading, content));
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

export function showProgress({ done, limit }) {
  find(".top").hidden = false;
  const bar = find("#progress");
  bar.hidden = !limit;
  bar.setAttribute("aria-label", t("progress_label"));
  if (limit) Object.assign(bar, { max: limit, value: Math.min(done, limit) });
  find("#count").textContent = limit ? t("progress", { done, limit }) : t("done", { done });
}

export function showUnsent(count) {
  const unsent = find("#unsent");
  const text = count ? t("unsent", { n: count }) : navigator.onLine ? "" : t("offline");
  if (unsent.textContent !== text) unsent.textContent = text;
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
  const action = keys[event.key] ?? keys[event.key.toLowerCase()];
  if (!action || keepsKey(event.target, event.key)) return;
  event.preventDefault();
  action();
});

/** Fields take every key, buttons Enter, and what scrolls the arrow down. */
function keepsKey(target, name) {
  if (target.closest("input, textarea, select")) return true;
  if (name === "Enter") return Boolean(target.closest("a, button:not(.handle)"));
  return name === "ArrowDown" && target.classList.contains("content");
}
