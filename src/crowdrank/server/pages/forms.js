// Questions to the owner, messages, files.

import { ApiError } from "./api.js";
import { button, find, h } from "./dom.js";

const NOTICE = 7000; // milliseconds

let hiding = 0;

export function notify(text) {
  const notice = find("#notice");
  notice.textContent = text;
  notice.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (notice.hidden = true), NOTICE);
}

/** A dialog; what its form gives, or null. */
function opened(title, content, action, read) {
  const dialog = find("#dialog");
  dialog.className = "";
  return new Promise((resolve) => {
    const submit = (event) => {
      event.preventDefault();
      resolve(read());
      dialog.close();
    };
    dialog.replaceChildren(
      h(
        "form",
        { onsubmit: submit },
        h("h2", { id: "dialog-title" }, title),
        content,
        h(
          "p.buttons",
          {},
          button("", "Cancel", () => dialog.close()),
          h("button.main", { type: "submit" }, action),
        ),
      ),
    );
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
  });
}

export const ask = (title, words, action) => opened(title, h("p", {}, words), action, () => true);

export function itemForm() {
  const fields = {
    id: h("input", { required: true, maxlength: 200, autocomplete: "off" }),
    title: h("input", { maxlength: 500, autocomplete: "off" }),
    text: h("textarea", { rows: 5 }),
    task: h("input", { maxlength: 500, autocomplete: "off" }),
    place: h("input", { maxlength: 200, autocomplete: "off" }),
  };
  const names = {
    id: "Id",
    title: "Title",
    text: "Text",
    task: "Task, if the study has several",
    place: "Place, if it stands somewhere",
  };
  const labels = Object.entries(fields).map(([name, field]) => h("label", {}, names[name], field));
  return opened("Add an item", h("div.fields", {}, labels), "Add", () =>
    Object.fromEntries(
      Object.entries(fields)
        .map(([name, field]) => [name, field.value.trim()])
        .filter(([, value]) => value),
    ),
  );
}

/** Saves an answer of the server as a file. */
export async function download(response, name) {
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})));
  const address = URL.createObjectURL(await response.blob());
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
