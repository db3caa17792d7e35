// One annotator's session: questions fetched ahead, answers sent behind, undo and change.

import { call, Memory, randomKey } from "./api.js";
import { showHistory } from "./history.js";
import { Outbox } from "./outbox.js";
import { button, find, h } from "./dom.js";
import { capital, notify, say, showProgress, showQuestion, showUnsent, showWords } from "./view.js";
import { known, t } from "./words.js";

const AHEAD = 4; // questions held at a time: more would keep others waiting for them
const FEW = 2; // fetch more when fewer are left
const SOON = 10_000; // milliseconds until a paused study is asked again
const LATER = 60_000;
const WAITING = new Set(["paused", "leased_out", "offline"]);

export class Judging {
  constructor(study, session, signOut) {
    Object.assign(this, { study, session, signOut });
    this.stock = [];
    this.given = [];
    this.answered = new Set();
    this.progress = { done: 0, limit: null };
    this.counted = 0; // changes of the progress
    this.last = new Memory(":current");
    this.outbox = new Outbox(session, {
      changed: () => showUnsent(this.outbox.size),
      refused: (judgment, error) => this.refused(judgment, error),
      failed: (error) => this.failed(error),
    });
    for (const name of ["online", "offline"]) addEventListener(name, () => showUnsent(this.outbox.size));
    addEventListener("online", () => this.current || this.next());
    this.watch = stopwatch();
  }

  async start() {
    find("#study").textContent = this.study.title;
    find("#menu").replaceChildren(
      button(".quiet", t("instructions"), () => this.instructions()),
      button(".quiet", t("history"), () => this.history()),
    );
    showProgress(this.progress);
    showUnsent(this.outbox.size);
    await this.outbox.flush();
    await this.next();
  }

  call(method, path, body) {
    return call(method, path, { token: this.session.token, body });
  }

  /** The next question: at once if one is in stock. */
  async next() {
    clearTimeout(this.timer);
    if (this.over) return;
    if (!this.stock.length) {
      const patience = setTimeout(() => this.current || showWords(t("loading")), 400);
      await this.refill();
      clearTimeout(patience);
      if (this.current || this.over) return;
    }
    const question = this.stock.shift();
    if (!question) return this.rest();
    this.show(question);
    if (this.stock.length < FEW) this.refill();
  }

  show(question) {
    this.current = question;
    this.last.set(question.id);
    this.watch.start();
    showQuestion(question, this.study, {
      submit: (fields) => this.answer(fields),
      skip: () => this.answer({ skip: true }),
      undo: () => this.undo(),
    });
  }

  answer(fields) {
    const question = this.current;
    if (!question) return;
    this.current = null;
    const judgment = { key: randomKey(), question: question.id, ...fields, seconds: this.watch.seconds() };
    this.given.push({ key: judgment.key, question, skip: fields.skip });
    this.answered.add(question.id);
    this.count(fields.skip ? 0 : 1);
    say(`${t(fields.skip ? "skipped" : "stored")} ${find("#count").textContent}`);
    this.outbox.add(judgment);
    this.next();
  }

  count(by) {
    this.counted += 1;
    this.progress = { ...this.progress, done: Math.max(0, this.progress.done + by) };
    showProgress(this.progress);
  }

  /** Fetches questions once, however often it is called meanwhile. */
  refill() {
    this.refilling ??= this.fetch().finally(() => (this.refilling = null));
    return this.refilling;
  }

  async fetch() {
    try {
      const count = AHEAD + Math.min(this.outbox.size, AHEAD);
      const counted = this.outbox.size ? null : this.counted;
      const found = await this.call("GET", `/questions?count=${count}`);
      this.reason = { code: found.code, text: found.reason };
      this.setProgress(found.progress, counted === this.counted);
      const here = new Set([this.current?.id, ...this.stock.map((each) => each.id)]);
      const fresh = found.questions.filter(({ id }) => !here.has(id) && !this.answered.has(id) && !this.outbox.has(id));
      this.stock.push(...fresh);
      if (!this.current) this.sameFirst();
      fresh.forEach(preload);
    } catch (error) {
      this.reason = { code: error.code, text: error.message };
      this.failed(error);
    }
  }

  /** After a reload, the question that was on the screen. */
  sameFirst() {
    const last = this.last.get();
    this.stock.sort((a, b) => (b.id === last) - (a.id === last));
  }

  /** The server's count, unless answers were on their way while it counted. */
  setProgress({ done, limit }, exact) {
    this.progress = { done: exact ? done : this.progress.done, limit };
    showProgress(this.progress);
  }

  /** No question now: why, and when this page asks again. */
  rest() {
    const { code, text } = this.reason ?? {};
    const waits = WAITING.has(code);
    const reason = code === "offline" ? t("unreachable") : known(code) ? t(code) : capital(text) || t("no_more");
    showWords(
      t(waits ? "pausing" : "thanks"),
      h("p", {}, reason),
      this.given.length > 0 && button(".main", t("undo"), () => this.undo()),
    );
    this.timer = setTimeout(() => this.next(), waits ? SOON : LATER);
  }

  /** The study takes no more answers. */
  end(error) {
    this.stock = [];
    this.current = null;
    this.reason = { code: error.code, text: error.message };
    this.rest();
  }

  /** Takes the last answer back and asks its question again. */
  async undo() {
    if (this.undoing) return;
    this.undoing = true;
    try {
      const last = this.given.at(-1) ?? (await this.newest());
      if (!last) return notify(t("nothing_to_undo"));
      let question = last.question;
      if (!(await this.outbox.takeBack(last.key)))
        question = (await this.call("DELETE", `/judgments/${encodeURIComponent(last.key)}`)).question ?? question;
      this.given.pop();
      this.count(last.skip ? 0 : -1);
      this.ask(question);
      say(t("undone"));
    } catch (error) {
      notify(error.passing ? t("undo_offline") : error.message);
    } finally {
      this.undoing = false;
    }
  }

  async newest() {
    const { judgments } = await this.call("GET", "/judgments?limit=1");
    return judgments[0];
  }

  /** The question on the screen waits; nothing is on the screen for a moment. */
  putBack() {
    if (this.current) this.stock.unshift(this.current);
    this.current = null;
  }

  async history() {
    try {
      await this.outbox.flush();
      const { judgments } = await this.call("GET", "/judgments?limit=1000");
      showHistory(judgments, this.study.scale ?? [], (judgment) => this.edit(judgment));
    } catch (error) {
      notify(error.passing ? t("unreachable") : error.message);
    }
  }

  async edit(judgment) {
    clearTimeout(this.timer);
    if (judgment.skip) return this.reopen(judgment);
    this.putBack();
    this.watch.start();
    const back = () => this.next();
    showQuestion(judgment.question, this.study, {
      answer: judgment,
      banner: t("editing"),
      leave: { text: t("cancel"), action: back },
      submit: (fields) => this.change(judgment, fields),
    });
    return undefined;
  }

  /** A question that was skipped is asked again. */
  async reopen(judgment) {
    try {
      const { question } = await this.call("DELETE", `/judgments/${encodeURIComponent(judgment.key)}`);
      this.given = this.given.filter(({ key }) => key !== judgment.key);
      this.ask(question);
    } catch (error) {
      notify(error.passing ? t("unreachable") : error.message);
    }
  }

  /** Shows a question that was answered before; the one on the screen comes after it. */
  ask(question) {
    this.answered.delete(question.id);
    this.putBack();
    this.stock = this.stock.filter(({ id }) => id !== question.id);
    this.show(question);
  }

  async change(judgment, fields) {
    try {
      const body = { ...fields, seconds: this.watch.seconds() };
      await this.call("PUT", `/judgments/${encodeURIComponent(judgment.key)}`, body);
      notify(t("changed"));
      this.next();
    } catch (error) {
      notify(error.passing ? t("unreachable") : error.message);
    }
  }

  instructions() {
    const dialog = find("#about");
    dialog.replaceChildren(
      h(
        "header",
        {},
        h("h2", { id: "about-title" }, t("instructions")),
        button(".quiet", t("close"), () => dialog.close()),
      ),
      ...aboutOf(this.study),
    );
    dialog.showModal();
  }

  /** The token is no longer valid. */
  leave(error) {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.timer);
    this.signOut(error);
  }

  refused(judgment, error) {
    this.given = this.given.filter(({ key }) => key !== judgment.key);
    this.count(judgment.skip ? 0 : -1);
    notify(t("refused", { error }));
  }

  failed(error) {
    if (error.status === 401) this.leave(error);
    else if (error.status === 409 && (this.current || this.stock.length)) this.end(error);
    else if (error.status === 0 && this.outbox.size) say(t("offline_queue"));
  }
}

/** Question, instructions and keys, for the welcome and for later. */
export function aboutOf(study) {
  const names = [t(`keys_${study.kind}`, { n: Math.min(9, study.scale?.length ?? 0) })];
  if (study.ties && study.kind === "pairs") names.push(t("keys_tie"));
  const hint = t("keys", { keys: [...names, t("keys_all")].join(", ") });
  return [
    h("p.lead", {}, study.question),
    study.instructions && h("p.text", {}, study.instructions),
    h("p.hint", {}, hint),
  ].filter(Boolean);
}

function preload(question) {
  for (const { image } of question.items) if (image) new Image().src = image;
}

/** Seconds since start, without the time in which the page could not be seen. */
function stopwatch() {
  let before = 0;
  let since = performance.now();
  const stop = () => {
    if (since != null) before += performance.now() - since;
    since = null;
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
    else since = performance.now();
  });
  return {
    start() {
      before = 0;
      since = document.hidden ? null : performance.now();
    },
    seconds() {
      const running = since == null ? 0 : performance.now() - since;
      return Math.round(before + running) / 1000;
    },
  };
}
