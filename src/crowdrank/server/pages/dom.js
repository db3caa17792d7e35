// Elements. Text given here becomes text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
};

/** h("button.main.wide", {type: "button", onclick}, "text", child) */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  return filled(element, attributes, children);
}

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export const find = (selector) => document.querySelector(selector);

export const button = (name, text, onclick, attributes = {}) =>
  h(`button${name}`, { type: "button", onclick, ...attributes }, text);

/** Only for people who listen. */
export const hidden = (text) => h("span.hidden", {}, text);

/** A letter or an arrow that does the same as a button. */
export const key = (text) => h("kbd", { "aria-hidden": "true" }, text);

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
