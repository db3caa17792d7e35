// Which of two?

import { button, h, hidden, key } from "./dom.js";
import { contentOf, nameOf } from "./content.js";
import { t } from "./words.js";

/** The question as an element, and the keys that answer it. `answer` is what was given before, if anything. */
export function pairQuestion(question, { ties, answer, submit }) {
  const [left, right] = question.items;
  const choose = (item) => submit({ winner: item.id });
  const card = (item, number, side, arrow) => {
    const pick = () => choose(item);
    return h(
      "article.card",
      { "aria-labelledby": `name${number}`, "data-item": item.id, onclick: (event) => onCard(event) && pick() },
      h("h2", { id: `name${number}`, class: item.title ? null : "hidden" }, nameOf(item, number)),
      h("div.content", { "data-name": nameOf(item, number) }, contentOf(item, number)),
      button(
        `.choice${answer?.winner === item.id ? ".chosen" : ""}`,
        [key(arrow), h("span", {}, t("choose")), hidden(`: ${side}, ${nameOf(item, number)}`)],
        (event) => once(event) && pick(),
      ),
    );
  };
  const tie = () => submit({ tie: true });
  return {
    element: h("div.pair", {}, card(left, 1, t("left"), "←"), card(right, 2, t("right"), "→")),
    actions: ties
      ? [button(`.action${answer?.tie ? ".chosen" : ""}`, [key("↓"), t("tie")], (event) => once(event) && tie())]
      : [],
    keys: { ArrowLeft: () => choose(left), ArrowRight: () => choose(right), ...(ties && { ArrowDown: tie }) },
  };
}

/** The second click of a double click would answer the next question. */
export function once(event) {
  event.stopPropagation();
  return event.detail < 2;
}

/** A click on the card chooses it, unless text was being selected or a link followed. */
function onCard(event) {
  return once(event) && !event.target.closest("a, button") && String(getSelection()) === "";
}
