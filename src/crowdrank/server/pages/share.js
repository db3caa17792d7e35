// The join link, its QR code, and invitations.

import { button, find, h, svg } from "./dom.js";
import { ago } from "./numbers.js";
import { qrModules } from "./qr.js";
import { tableOf } from "./crowd.js";

const QUIET = 4; // light modules around the code

export function qrPicture(link) {
  const rows = qrModules(link);
  if (!rows) return null;
  const path = rows.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  const size = rows.length + 2 * QUIET;
  return svg(
    "svg",
    {
      viewBox: `${-QUIET} ${-QUIET} ${size} ${size}`,
      class: "qr",
      role: "img",
      "aria-label": `QR code of ${link}`,
      "shape-rendering": "crispEdges",
    },
    svg("rect", { x: -QUIET, y: -QUIET, width: size, height: size, class: "paper" }),
    svg("path", { d: path }),
  );
}

export function copyButton(text, name = "Copy") {
  const copy = button(".small", name, async () => {
    await copied(text);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = name), 1500);
  });
  return copy;
}

/** The clipboard is only there on https and localhost. */
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { readonly: true, class: "hidden" }, text);
  (find("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  return field.remove();
}

/** The join link, large enough for the last row. */
export function showOnScreen(title, link) {
  const dialog = find("#dialog");
  dialog.className = "stage";
  dialog.replaceChildren(
    h(
      "header",
      {},
      h("h2", { id: "dialog-title" }, title),
      button(".quiet", "Close", () => dialog.close()),
    ),
    qrPicture(link) ?? "",
    h("p.link", {}, link),
  );
  dialog.showModal();
}

export function joinPanel(study) {
  return h(
    "section.panel.join",
    {},
    qrPicture(study.join),
    h(
      "div",
      {},
      h("h2", {}, "Open link"),
      h("p", {}, "Everyone with this link can take part."),
      h("p.link", {}, study.join),
      h(
        "p.buttons",
        {},
        copyButton(study.join, "Copy link"),
        button(".small", "Show on screen", () => showOnScreen(study.title, study.join)),
      ),
    ),
  );
}

/** Links are shown once: the server keeps only what it needs to check them. */
export function newLinks(invitations) {
  const all = invitations.map(({ name, link }) => (name ? `${name}\t${link}` : link)).join("\n");
  return h(
    "section.panel.fresh",
    { "aria-labelledby": "fresh-title" },
    h("header", {}, h("h2", { id: "fresh-title" }, "New links"), copyButton(all, "Copy all")),
    h("p", {}, "Copy them now: they cannot be shown again."),
    h(
      "ul.links",
      {},
      invitations.map(({ name, link }) =>
        h(
          "li",
          {},
          name && h("b", {}, name),
          h("span.link", {}, link),
          copyButton(link),
          button(".small", "QR code", () => showOnScreen(name || "Invitation", link)),
        ),
      ),
    ),
  );
}

export function invitationsTable(invitations, revoke) {
  if (!invitations.length) return h("p.empty", {}, "No invitations yet.");
  const rows = invitations.map((each) =>
    h(
      `tr${each.state === "revoked" ? ".void" : ""}`,
      { "data-invitation": each.id },
      h("th", { scope: "row" }, each.name || each.id),
      h("td", {}, h(`span.tag${each.state === "used" ? ".good" : ""}`, {}, each.state)),
      h("td", {}, each.annotator || "–"),
      h("td", {}, ago(each.created_at)),
      h(
        "td.do",
        {},
        each.state !== "revoked" &&
          button(".small", "Revoke", () => revoke(each), {
            "aria-label": `Revoke the invitation of ${each.name || each.id}`,
          }),
      ),
    ),
  );
  return tableOf(
    "Invitations",
    [
      ["For", ""],
      ["State", ""],
      ["Annotator", ""],
      ["Made", ""],
      ["", ""],
    ],
    rows,
  );
}
