// The parts of the dashboard beside the overview. `change(method, path, body, words, ...parts)` changes the study.

import { call, send } from "./api.js";
import { annotatorsTable, itemsTable, tableOf } from "./crowd.js";
import { button, h } from "./dom.js";
import { download, itemForm, notify } from "./forms.js";
import { plural, sentence, stamp } from "./numbers.js";
import { invitationsTable, joinPanel, newLinks } from "./share.js";

const EXPORTS = [
  ["export.csv", "CSV", "a row for each judgment"],
  ["export.parquet", "Parquet", "the same, small and typed"],
  ["export.jsonl", "JSON lines", "the same, an object on each line"],
  ["export.json", "JSON", "also what does not count, to move a study"],
  ["export.qrels", "qrels", "grades for TREC tools"],
  ["report.html", "Report", "one page with charts, to keep and to share"],
];
const KINDS_OF_FILES = ".csv,.tsv,.json,.jsonl,.parquet,.xlsx,.gz,.zst";
const QUALITY = "Quality: 1 is always right, ½ random, 0 always reversed.";
const VOID = "Judgments of a voided annotator are kept, but do not count.";
const INVITATIONS = "A link for one person, on all of their devices. Revoking it also ends what they opened with it.";
const TABLES = "Any table that crowdrank reads: columns such as annotator, left, right, winner, or item and grade.";

const panel = (title, ...content) => h("section.panel", {}, h("h2", {}, title), content);
const dim = (text) => h("p.dim", {}, text);
const nameOf = ({ id, name, title }) => title || name || id;

export function annotatorsSection({ annotators }, change) {
  const toggle = (each, voided) => {
    const path = `/annotators/${encodeURIComponent(each.id)}/${voided ? "restore" : "void"}`;
    const count = plural(each.judgments, "judgment");
    const words = voided
      ? `${nameOf(each)} counts again.`
      : `${count} of ${nameOf(each)} no longer count. Nothing is deleted.`;
    change("POST", path, {}, words, "annotators", "status");
  };
  const isVoid = ({ state }) => state === "void";
  return panel("Annotators", dim(`${QUALITY} ${VOID}`), annotatorsTable(annotators, { isVoid, toggle }));
}

export function itemsSection({ items }, change) {
  const path = ({ id, task }, action = "") =>
    `/items/${encodeURIComponent(id)}${action}${task ? `?task=${encodeURIComponent(task)}` : ""}`;
  const both = ["items", "status"];
  const add = async () => {
    const item = await itemForm();
    if (item) change("POST", "/items", { items: [item] }, `${nameOf(item)} is added.`, ...both);
  };
  const actions = {
    next: (item) =>
      change("POST", path(item, "/next"), {}, `The next annotator is asked about ${nameOf(item)}.`, "items"),
    withdraw: (item) => change("DELETE", path(item), undefined, `${nameOf(item)} is withdrawn.`, ...both),
    restore: (item) => change("POST", path(item, "/restore"), {}, `${nameOf(item)} is back.`, ...both),
  };
  return panel("Items", button(".main.small.add", "Add an item", add), itemsTable(items, actions));
}

// What the owner has typed, and links that are shown once, outlive a change of the table.
const names = h("textarea", { rows: 4, placeholder: "One name on each line" });
const count = h("input", { type: "number", min: 1, max: 1000, value: 5 });
const form = h(
  "form.invite",
  {},
  h("label", {}, "Names", names),
  h("label", {}, "or how many", count),
  h("button.main", { type: "submit" }, "Make links"),
);
const inviting = panel("Invitations", dim(INVITATIONS), form);
let fresh = [];

export function invitationsSection(study, { invitations }, change, again) {
  form.onsubmit = async (event) => {
    event.preventDefault();
    const lines = names.value.split("\n").map((line) => line.trim());
    const given = lines.filter(Boolean);
    const body = given.length ? { names: given } : { count: Number(count.value) };
    const made = await change("POST", "/invitations", body, "", "invitations");
    if (!made) return;
    fresh = made.invitations;
    names.value = "";
    again();
  };
  const revoke = ({ id }) =>
    change("DELETE", `/invitations/${encodeURIComponent(id)}`, undefined, "The invitation is revoked.", "invitations");
  return [
    study.access === "open" && joinPanel(study),
    inviting,
    fresh.length > 0 && newLinks(fresh),
    panel("All invitations", invitationsTable(invitations, revoke)),
  ].filter(Boolean);
}

export function dataSection(study, token) {
  const save = async (name) => {
    try {
      await download(await send("GET", `/${name}`, { token }), `${study.name}-${name}`);
    } catch (error) {
      notify(sentence(error.message));
    }
  };
  const file = h("input", { type: "file", accept: KINDS_OF_FILES });
  const bring = async (event) => {
    event.preventDefault();
    const [chosen] = file.files;
    if (!chosen) return notify("Choose a file first.");
    try {
      const answer = await call("POST", `/import?file=${encodeURIComponent(chosen.name)}`, { token, raw: chosen });
      return notify([`${plural(answer.imported, "judgment")} imported.`, ...(answer.notes ?? [])].join(" "));
    } catch (error) {
      return notify(sentence(error.message));
    }
  };
  const exports = EXPORTS.map(([name, words, more]) => {
    const action = button("", words, () => save(name), { "aria-label": `Export ${words}` });
    return h("li", {}, action, h("span.dim", {}, more));
  });
  const importing = h(
    "form.invite",
    { onsubmit: bring },
    h("label", {}, "File", file),
    h("button.main", { type: "submit" }, "Import"),
  );
  return [panel("Export", h("ul.exports", {}, exports)), panel("Import earlier judgments", dim(TABLES), importing)];
}

export function logSection({ entries }) {
  const rows = entries.map(({ at, who, action, detail }) => {
    const cells = [h("td", {}, stamp(at)), h("th", { scope: "row" }, action), h("td", {}, wordsOf(detail))];
    return h("tr", {}, cells, h("td", {}, who));
  });
  const columns = ["Time", "Action", "Detail", "By"].map((name) => [name, ""]);
  return panel("Audit log", rows.length ? tableOf("Audit log", columns, rows) : h("p.empty", {}, "Nothing yet."));
}

/** Details of an entry: "annotator: ann, tokens: 2". */
const wordsOf = (detail) =>
  Object.entries(detail ?? {})
    .map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
