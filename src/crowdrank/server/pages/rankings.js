// In which order? Rows are dragged, or moved by keys or buttons; a row may share the place of the one above.

import { button, calm, h, key } from "./dom.js";
import { contentOf, nameOf } from "./content.js";
import { t } from "./words.js";

const EDGE = 90; // pixels from the edge of the window where dragging scrolls
const SCROLL = 12;

export function rankingQuestion(question, { ties, answer, submit, say }) {
  const list = h("ol.ranking");
  const numbers = new Map(question.items.map((item, index) => [item.id, index + 1]));
  const order = startOrder(question.items, answer);

  function row({ item }) {
    const name = nameOf(item, numbers.get(item.id));
    const element = h(
      "li.row",
      { "data-item": item.id },
      h("span.place", { "aria-hidden": "true" }),
      button(".handle", "⠿", () => {}, { onpointerdown: (event) => drag(event, element, order, arrange) }),
      h(
        "div.body",
        {},
        item.title && h("h2", {}, name),
        h("div.content", { "data-name": name }, contentOf(item, numbers.get(item.id))),
      ),
      ties && button(".same", "=", () => tie(element), { "aria-label": t("same", { item: name }) }),
      button(".step", "↑", () => step(element, -1), { "aria-label": t("up", { item: name }) }),
      button(".step", "↓", () => step(element, 1), { "aria-label": t("down", { item: name }) }),
    );
    element.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by || event.target.classList.contains("content")) return;
      event.preventDefault();
      event.stopPropagation();
      step(element, by);
    });
    return element;
  }

  const at = (element) => order.findIndex((each) => each.element === element);

  function step(element, by) {
    const from = at(element);
    const to = from + by;
    if (to < 0 || to >= order.length) return;
    order.splice(to, 0, ...order.splice(from, 1));
    arrange(element);
    tell(order[to]);
  }

  function tie(element) {
    const each = order[at(element)];
    each.tied = !each.tied;
    arrange(element);
    tell(each);
  }

  const tell = (each) =>
    say(t("moved", { item: nameOf(each.item, numbers.get(each.item.id)), place: each.place, n: order.length }));

  /** Rows in their order around one that stays in the document: it keeps the focus and the pointer. */
  function arrange(fixed) {
    const before = new Map(order.map(({ element }) => [element, element.getBoundingClientRect().top]));
    order.forEach((each, index) => {
      each.tied &&= index > 0;
      each.place = each.tied ? order[index - 1].place : index + 1;
      each.element.classList.toggle("tied", Boolean(each.tied));
      each.element.querySelector(".place").textContent = each.place;
      each.element.querySelector(".same")?.setAttribute("aria-pressed", String(Boolean(each.tied)));
      each.element
        .querySelector(".handle")
        .setAttribute(
          "aria-label",
          t("move", { item: nameOf(each.item, numbers.get(each.item.id)), place: each.place, n: order.length }),
        );
    });
    const middle = at(fixed);
    order.forEach(
      ({ element }, index) => index !== middle && list.insertBefore(element, index < middle ? fixed : null),
    );
    slide(before);
  }

  const finish = () => submit({ ranking: groups(order) });
  for (const each of order) each.element = row(each);
  list.append(order[0].element);
  arrange(order[0].element);
  return {
    element: h("div.ordering", {}, h("p.end", {}, t("best")), list, h("p.end", {}, t("worst"))),
    actions: [button(".action.main", [key("↵"), t("store_order")], finish)],
    keys: { Enter: finish },
  };
}

function startOrder(items, answer) {
  if (!answer?.ranking) return items.map((item) => ({ item, tied: false }));
  const byId = new Map(items.map((item) => [item.id, item]));
  return answer.ranking.flatMap((group) =>
    [group].flat().map((id, index) => ({ item: byId.get(id), tied: index > 0 })),
  );
}

function groups(order) {
  const found = [];
  for (const { item, tied } of order) {
    if (tied) found.at(-1).push(item.id);
    else found.push([item.id]);
  }
  return found;
}

/** Rows glide to their new places. */
function slide(before) {
  if (calm()) return;
  for (const [element, top] of before) {
    const by = top - element.getBoundingClientRect().top;
    if (by && top && !element.classList.contains("dragged"))
      element.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], {
        duration: 160,
        easing: "ease-out",
      });
  }
}

/** The row follows the pointer; where its middle passes that of a neighbour they change places. */
function drag(event, element, order, arrange) {
  if (event.button > 0) return;
  event.preventDefault();
  const handle = event.currentTarget;
  const listening = new AbortController();
  const grip = event.clientY - element.getBoundingClientRect().top;
  let shift = 0;
  handle.focus({ preventScroll: true });
  handle.setPointerCapture(event.pointerId);
  element.classList.add("dragged");

  const move = ({ clientY }) => {
    const from = order.findIndex((each) => each.element === element);
    const to = placeOf(clientY - grip + element.offsetHeight / 2, from, order);
    if (to !== from) {
      order.splice(to, 0, ...order.splice(from, 1));
      arrange(element);
    }
    scrollNear(clientY);
    shift += clientY - grip - element.getBoundingClientRect().top;
    element.style.transform = `translateY(${shift}px)`;
  };
  const end = () => {
    listening.abort();
    element.classList.remove("dragged");
    element.style.transform = "";
  };
  for (const [name, listener] of [
    ["pointermove", move],
    ["pointerup", end],
    ["pointercancel", end],
  ])
    handle.addEventListener(name, listener, { signal: listening.signal });
}

function placeOf(middle, from, order) {
  const middles = order.map(({ element }) => element.offsetTop + element.offsetHeight / 2);
  const offset = order[from].element.offsetParent?.getBoundingClientRect().top ?? 0;
  let to = from;
  while (to > 0 && middle - offset < middles[to - 1]) to -= 1;
  while (to < order.length - 1 && middle - offset > middles[to + 1]) to += 1;
  return to;
}

function scrollNear(y) {
  if (y < EDGE) scrollBy(0, -SCROLL);
  else if (y > innerHeight - EDGE) scrollBy(0, SCROLL);
}
