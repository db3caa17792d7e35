// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en");

export const whole = (value) => (value == null ? "–" : WHOLE.format(Math.round(value)));
/** With a minus sign; what rounds to 0 has none. */
export const decimal = (value, digits = 2) =>
  value == null ? "–" : value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
export const percent = (value) => (value == null ? "–" : `${Math.round(100 * value)} %`);
export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

export function money(amount, currency) {
  if (!currency) return decimal(amount);
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).format(amount);
  } catch {
    return `${decimal(amount)} ${currency}`;
  }
}

export function seconds(value) {
  if (value == null) return "–";
  return value < 10
    ? `${value.toFixed(1)} s`
    : value < 120
      ? `${Math.round(value)} s`
      : `${Math.round(value / 60)} min`;
}

/** How long ago. */
export function ago(at) {
  if (!at) return "–";
  const past = Math.max(0, (Date.now() - new Date(at)) / 1000);
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.round(past / 60)} min ago`;
  if (past < 86_400) return `${Math.round(past / 3600)} h ago`;
  return new Date(at).toLocaleDateString("en", { day: "numeric", month: "short" });
}

/** A time ahead, in words: how long a number of judgments takes at this speed. */
export function duration(hours) {
  if (!Number.isFinite(hours)) return "";
  if (hours < 1) return plural(Math.max(1, Math.round(60 * hours)), "minute");
  return hours < 48 ? plural(Math.round(hours), "hour") : plural(Math.round(hours / 24), "day");
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
export const stamp = (at) =>
  new Date(at).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });

/** A sentence of the server, as people write it. */
export const sentence = (text) =>
  text ? text[0].toUpperCase() + text.slice(1) + (/[.!?…:]$/.test(text) ? "" : ".") : "";
