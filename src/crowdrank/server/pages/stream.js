// The server's events, read with the token in a header: one stream for each page, none while the page is hidden.

import { send } from "./api.js";

const FIRST_WAIT = 500; // milliseconds
const LONGEST_WAIT = 15_000;

/** `heard(data)` for every event; `connected(bool)` when that changes; `refused(status)` ends it. */
export function listen(token, { heard, connected, refused }) {
  let controller = null;
  let wait = FIRST_WAIT;
  let timer = 0;

  async function open() {
    if (controller) return;
    controller = new AbortController();
    try {
      const response = await send("GET", "/events", { token, signal: controller.signal });
      if ([401, 403, 404].includes(response.status)) return refused(response.status);
      if (!response.ok) throw new Error(`status ${response.status}`);
      connected(true);
      wait = FIRST_WAIT;
      for await (const data of events(response.body)) heard(data);
    } catch {
      // the connection broke or the page was hidden
    } finally {
      controller = null;
    }
    if (document.hidden) return;
    connected(false);
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) controller?.abort();
    else open();
  });
  addEventListener("pagehide", () => controller?.abort());
  if (!document.hidden) open();
}

/** The JSON of each event. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r", "");
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n").filter((line) => line.startsWith("data:"));
      if (lines.length) yield JSON.parse(lines.map((line) => line.slice(5)).join("\n"));
    }
  }
}
