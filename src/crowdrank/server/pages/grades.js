// Which grade?

import { button, h, hidden, key } from "./dom.js";
import { contentOf, nameOf } from "./content.js";
import { once } from "./pairs.js";

export function gradeQuestion(question, { scale, answer, submit }) {
  const [item] = question.items;
  const grades = scale.map(({ grade, label }, index) =>
    button(
      `.choice${answer?.grade === grade ? ".chosen" : ""}`,
      [
        index < 9 && key(String(index + 1)),
        h("span", {}, label || String(grade)),
        label && label !== String(grade) && hidden(` (${grade})`),
      ],
      (event) => once(event) && submit({ grade }),
    ),
  );
  const keys = scale.slice(0, 9).map(({ grade }, index) => [String(index + 1), () => submit({ grade })]);
  return {
    element: h(
      "div.graded",
      {},
      h(
        "article.card.alone",
        { "aria-labelledby": "name1", "data-item": item.id },
        h("h2", { id: "name1", class: item.title ? null : "hidden" }, nameOf(item, 1)),
        h("div.content", { "data-name": nameOf(item, 1) }, contentOf(item, 1)),
      ),
      h("div.scale", { role: "group", "aria-labelledby": "question" }, grades),
    ),
    actions: [],
    keys: Object.fromEntries(keys),
  };
}
