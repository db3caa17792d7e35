// What an item looks like: its title, then text, Markdown that the server made into HTML, a picture, or a page in a
// frame that can run nothing.

import { h } from "./dom.js";
import { t } from "./words.js";

const ALLOWED = new Set(
  (
    "p br hr h1 h2 h3 h4 h5 h6 em strong b i u s del ins sub sup small mark code pre kbd blockquote ul ol li dl dt dd " +
    "table thead tbody tr th td caption a img span div figure figcaption"
  ).split(" "),
);
const SHORT = 240; // characters
const LINK = /^(https?:|mailto:)/i;
const PICTURE = /^(\/(?!\/)|data:image\/(png|jpeg|gif|webp);)/i;

/** The server cleans HTML; here once more, only what is known to be harmless is copied. */
function copyOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  const name = node.nodeName.toLowerCase();
  if (node.nodeType !== Node.ELEMENT_NODE || name === "script" || name === "style") return null;
  const children = [...node.childNodes].map(copyOf);
  if (!ALLOWED.has(name)) return h("span", {}, children);
  return h(name, attributesOf(name, node), children);
}

function attributesOf(name, node) {
  const address = node.getAttribute(name === "a" ? "href" : "src") ?? "";
  if (name === "a" && LINK.test(address)) return { href: address, target: "_blank", rel: "noopener noreferrer" };
  if (name === "img" && PICTURE.test(address)) return { src: address, alt: node.getAttribute("alt") ?? "" };
  if (name === "td" || name === "th")
    return { colspan: node.getAttribute("colspan"), scope: node.getAttribute("scope") };
  return {};
}

function markdown(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return h("div.prose", {}, [...parsed.body.childNodes].map(copyOf));
}

export const nameOf = (item, number) => item.title || t("item", { n: number });

/** The parts of an item below its title. */
export function contentOf(item, number) {
  return [
    item.image && h("img.picture", { src: item.image, alt: item.alt || nameOf(item, number), draggable: "false" }),
    item.html && markdown(item.html),
    item.text && !item.html && h("p.text", {}, item.text),
    item.frame && frameOf(item, number),
    item.place && h("p.place", {}, item.place),
  ].filter(Boolean);
}

/** A page that can run nothing. A click in it takes the keys; they come back when the pointer leaves it. */
const frameOf = (item, number) =>
  h("iframe.frame", {
    src: item.frame,
    sandbox: "",
    title: nameOf(item, number),
    referrerpolicy: "no-referrer",
    onmouseleave: (event) => event.currentTarget.blur(),
  });

/** Few words are set larger. */
export const isShort = (items) => items.every(({ text, html, frame }) => !frame && (html ?? text ?? "").length < SHORT);

/** What does not fit scrolls; then it must have a name and be reachable by keyboard. */
export function markScrolling(container) {
  for (const each of container.querySelectorAll(".content")) {
    const scrolls = each.scrollHeight > each.clientHeight + 1;
    for (const [name, value] of [
      ["tabindex", "0"],
      ["role", "group"],
      ["aria-label", each.dataset.name],
    ]) {
      if (scrolls) each.setAttribute(name, value);
      else each.removeAttribute(name);
    }
  }
}
