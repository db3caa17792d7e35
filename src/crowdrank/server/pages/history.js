// What this annotator has answered, and changing it.

import { button, find, h } from "./dom.js";
import { nameOf } from "./content.js";
import { t } from "./words.js";

/** An answer in words. */
export function wordsFor(question, judgment, scale) {
  const names = new Map(question.items.map((item, index) => [item.id, nameOf(item, index + 1)]));
  const all = question.items.map((item) => names.get(item.id));
  if (judgment.skip) return `${t("skipped")}: ${all.join(", ")}`;
  if (judgment.tie) return t("tied", { items: all.join(", ") });
  if (judgment.ranking)
    return judgment.ranking
      .map((group) =>
        [group]
          .flat()
          .map((id) => names.get(id))
          .join(" = "),
      )
      .join(" > ");
  if (judgment.grade != null) {
    const label = scale.find(({ grade }) => grade === judgment.grade)?.label;
    return `${all[0]}: ${label || judgment.grade}`;
  }
  const others = question.items.filter((item) => item.id !== judgment.winner).map((item) => names.get(item.id));
  return t("better", { winner: names.get(judgment.winner), others: others.join(", ") });
}

const timeOf = (at) =>
  at
    ? new Date(at).toLocaleTimeString(document.documentElement.lang, {
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      })
    : "";

export function showHistory(judgments, scale, edit) {
  const dialog = find("#history");
  const rows = judgments.map((judgment) =>
    h(
      "li",
      {},
      h("span.when", {}, timeOf(judgment.at)),
      h("span.what", {}, wordsFor(judgment.question, judgment, scale)),
      button(
        ".quiet",
        t("edit"),
        () => {
          dialog.close();
          edit(judgment);
        },
        { "aria-label": `${t("edit")}: ${wordsFor(judgment.question, judgment, scale)}` },
      ),
    ),
  );
  dialog.replaceChildren(
    h(
      "header",
      {},
      h("h2", { id: "history-title" }, t("history")),
      button(".quiet", t("close"), () => dialog.close()),
    ),
    rows.length ? h("ol.answers", {}, rows) : h("p", {}, t("history_empty")),
  );
  dialog.showModal();
}
