// The owner's dashboard: fetches the parts that the server says have changed, and draws them.

import { call, Memory, takeFragment } from "./api.js";
import { button, find, h } from "./dom.js";
import { ask, notify } from "./forms.js";
import { sentence } from "./numbers.js";
import { askedNow, connectivity, factsOf, forecast, overTime } from "./overview.js";
import { drawRanking } from "./ranking.js";
import { annotatorsSection, dataSection, invitationsSection, itemsSection, logSection } from "./sections.js";
import { joinPanel } from "./share.js";
import { listen } from "./stream.js";

const PARTS = ["study", "status", "consensus", "annotators", "stopping", "items", "invitations", "audit"];
const TABS = [
  ["overview", "Overview"],
  ["annotators", "Annotators"],
  ["items", "Items"],
  ["invitations", "Invite"],
  ["data", "Data"],
  ["log", "Log"],
];
const TAB_OF = { annotators: "annotators", items: "items", invitations: "invitations", audit: "log" };
const STATES = {
  open: { words: "Open", next: ["paused", "closed"] },
  paused: { words: "Paused", next: ["open", "closed"] },
  closed: { words: "Closed", next: ["open", "frozen"] },
  frozen: { words: "Frozen", next: ["closed"] },
};
const ACTIONS = {
  open: ["Open", "Annotators get questions again."],
  paused: ["Pause", "Nobody gets new questions until you open it again."],
  closed: ["Close", "No more questions. You can open the study again."],
  frozen: [
    "Freeze",
    "Nothing can be changed: no judgments, no items, no voiding. You can undo this by closing it again.",
  ],
};

const memory = new Memory(":owner");
const known = {};
const running = new Map();
let token;

const api = (method, path, body) => call(method, path, { token, body });

function main() {
  const given = takeFragment("token");
  if (given) memory.set(given);
  token = given ?? memory.get();
  if (!token) return lonely("Open the owner's link that crowdrank serve printed. It holds the key to this page.");
  addEventListener("hashchange", showTab);
  showTab();
  return listen(token, {
    heard: ({ changed = PARTS }) => changed.forEach(refresh),
    connected: (yes) => {
      find("#live").textContent = yes ? "Live" : "Connecting …";
      find("#live").classList.toggle("on", yes);
    },
    refused: (status) => signedOut(status),
  });
}

function signedOut(status) {
  if (status === 401 || status === 403) memory.remove();
  lonely(
    status === 401 || status === 403
      ? "This link is no longer valid. Open the owner's link again."
      : "The server does not know this study.",
  );
}

function lonely(words) {
  for (const name of ["#main", "#tabs"]) find(name).hidden = true;
  find("#lonely").hidden = false;
  find("#lonely").replaceChildren(h("p", {}, words));
}

/** Fetches a part that is seen; if it changes meanwhile, once more afterwards. */
async function refresh(part) {
  if (!PARTS.includes(part) || (part in TAB_OF && find(`#${TAB_OF[part]}`).hidden)) return;
  if (running.has(part)) return running.set(part, true);
  running.set(part, false);
  try {
    known[part] = await api("GET", `/${part}`);
    draw(part);
  } catch (error) {
    if (error.status === 401) signedOut(401);
    else if (!error.passing && error.status !== 404) notify(sentence(error.message));
  }
  const again = running.get(part);
  running.delete(part);
  return again ? refresh(part) : undefined;
}

/** A change, its message, and what to fetch at once; the other pages hear of it by their streams. */
async function change(method, path, body, words, ...parts) {
  try {
    const answer = await api(method, path, body);
    if (words) notify(words);
    for (const part of [...parts, "audit"]) refresh(part);
    return answer;
  } catch (error) {
    notify(sentence(error.message));
    return null;
  }
}

const DRAWN_BY = {
  study: [drawHead, drawInvitations, drawData, drawConsensus],
  status: [drawHead, drawStatus, drawFacts, countItems],
  consensus: [drawConsensus, drawFacts],
  stopping: [drawForecast, drawFacts],
  annotators: [drawAnnotators],
  items: [drawItems],
  invitations: [drawInvitations],
  audit: [drawLog],
};

/** What changes while a button is pressed is drawn afterwards, or the click would be lost. */
const waiting = new Set();
let pressed = false;
addEventListener("pointerdown", () => (pressed = true));
for (const name of ["pointerup", "pointercancel"])
  addEventListener(name, () => {
    pressed = false;
    setTimeout(() => {
      for (const part of waiting) draw(part);
    });
  });

function draw(part) {
  if (pressed) return waiting.add(part);
  waiting.delete(part);
  find("#main").hidden = false;
  find("#tabs").hidden = false;
  return DRAWN_BY[part].forEach(keepingFocus);
}

/** Where a table is drawn anew, the focus stays on the button with the same name. */
function keepingFocus(drawPart) {
  const focused = document.activeElement;
  const name = labelOf(focused);
  drawPart();
  if (focused.isConnected || !name) return;
  const same = [...document.querySelectorAll("button, .scroll")].find((each) => labelOf(each) === name);
  same?.focus({ preventScroll: true });
}

const labelOf = (element) =>
  element.getAttribute("aria-label") ?? (element.matches("button") ? element.textContent : "");

/** New judgments change the counts of items. */
function countItems() {
  refresh("items");
}

function showTab() {
  const chosen = TABS.some(([name]) => `#${name}` === location.hash) ? location.hash.slice(1) : "overview";
  for (const [name] of TABS) find(`#${name}`).hidden = name !== chosen;
  for (const [part, tab] of Object.entries(TAB_OF)) if (tab === chosen) refresh(part);
  find("#tabs").replaceChildren(
    ...TABS.map(([name, words]) =>
      h("a", { href: `#${name}`, "aria-current": name === chosen ? "page" : null }, words),
    ),
  );
}

function drawHead() {
  const { study, status } = known;
  if (!study) return;
  document.title = `${study.title} · dashboard`;
  find("#title").textContent = study.title;
  find("#question").textContent = study.question;
  const state = status?.state ?? study.state;
  const demo = status?.demo;
  find("#states").replaceChildren(
    ...[
      demo &&
        button(
          `.small.demo`,
          `Simulated annotators: ${demo.on ? "on" : "off"}`,
          () => change("POST", "/demo", { on: !demo.on }, "", "status"),
          { "aria-pressed": String(demo.on) },
        ),
      h(`span.state.${state}`, {}, STATES[state].words),
      ...STATES[state].next.map((next) => button(".small", ACTIONS[next][0], () => setState(next))),
    ].filter(Boolean),
  );
}

async function setState(state) {
  const [name, words] = ACTIONS[state];
  const sure = state === "open" || state === "paused" || (await ask(`${name} the study?`, words, name));
  if (sure) change("POST", "/state", { state }, words, "status", "study");
}

function drawFacts() {
  if (known.status) find("#facts").replaceChildren(...factsOf(known.status, known.stopping, known.consensus));
}

function drawStatus() {
  const { status } = known;
  find("#speed").replaceChildren(...overTime(status));
  find("#connected").replaceChildren(...connectivity(status.connectivity, status.items));
  find("#now").replaceChildren(...askedNow(status.asked_now));
}

function drawForecast() {
  find("#forecast").replaceChildren(...forecast(known.stopping));
}

function drawConsensus() {
  const { consensus } = known;
  if (!consensus) return;
  const ranked = drawRanking(consensus, find("#ranking"), find("#ranking-tools"));
  if (!ranked && known.study?.access === "open") find("#ranking").append(joinPanel(known.study));
  find("#notes").replaceChildren(...(ranked ? consensus.notes : []).map((note) => h("li", {}, sentence(note))));
}

function drawAnnotators() {
  find("#annotators").replaceChildren(annotatorsSection(known.annotators, change));
}

function drawItems() {
  find("#items").replaceChildren(itemsSection(known.items, change));
}

function drawInvitations() {
  const { study, invitations } = known;
  if (study && invitations)
    find("#invitations").replaceChildren(...invitationsSection(study, invitations, change, drawInvitations));
}

function drawData() {
  if (!find("#data").children.length) find("#data").replaceChildren(...dataSection(known.study, token));
}

function drawLog() {
  find("#log").replaceChildren(logSection(known.audit));
}

main();
