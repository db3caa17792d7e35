// Judgments on their way. Each is kept in the browser under its own name until the server says that it is stored, so
// that nothing is lost by a reload or a lost connection; its key makes sure that it counts once.

import { call, Memory } from "./api.js";

const BATCH = 50;
const LONGEST_WAIT = 30_000;

export class Outbox {
  /** `changed()` after every change, `refused(judgment, error)`, `failed(error)`. */
  constructor(session, { changed, refused, failed }) {
    Object.assign(this, { session, changed, refused, failed });
    this.kept = new Memory(`:out:${session.annotator}:`);
    this.waiting = new Map();
    for (const key of this.kept.names()) {
      const judgment = this.kept.get(key);
      if (judgment) this.waiting.set(key, judgment);
    }
    this.flying = null;
    this.pause = 0;
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
  }

  get size() {
    return this.waiting.size;
  }

  has(question) {
    return [...this.waiting.values()].some((judgment) => judgment.question === question);
  }

  add(judgment) {
    this.waiting.set(judgment.key, judgment);
    this.kept.set(judgment, judgment.key);
    this.changed();
    return this.flush();
  }

  /** Takes back what has not been sent; false if it was sent, or perhaps. */
  async takeBack(key) {
    if (this.flying?.keys.has(key)) await this.flying.done;
    const judgment = this.waiting.get(key);
    if (!judgment || judgment.tried) return false;
    this.drop(key);
    this.changed();
    return true;
  }

  drop(key) {
    this.waiting.delete(key);
    this.kept.remove(key);
  }

  retry() {
    this.pause = 0;
    return this.flush();
  }

  flush() {
    clearTimeout(this.timer);
    if (this.flying) return this.flying.done;
    const batch = [...this.waiting.values()].slice(0, BATCH);
    if (!batch.length) return Promise.resolve();
    const done = this.post(batch).finally(() => {
      this.flying = null;
      this.changed();
      if (this.size) this.timer = setTimeout(() => this.flush(), this.pause);
    });
    this.flying = { keys: new Set(batch.map((each) => each.key)), done };
    return done;
  }

  async post(batch) {
    try {
      this.settle(batch, await call("POST", "/judgments", { token: this.session.token, body: batch.map(bare) }));
      this.pause = 0;
    } catch (error) {
      if (error.status === 422 && error.body.refused) this.settle(batch, error.body);
      else if (error.passing || error.status === 401 || error.status === 409) this.delay(batch, error);
      else for (const each of batch) this.settle([each], { refused: [{ key: each.key, error: error.message }] });
      this.failed(error);
    }
  }

  settle(batch, { stored = [], refused = [] }) {
    for (const key of stored) this.drop(key);
    for (const { key, error } of refused) {
      const judgment = batch.find((each) => each.key === key);
      this.drop(key);
      if (judgment) this.refused(judgment, error);
    }
  }

  /** The server may have stored it although its answer did not arrive: from now on it is taken back there. */
  delay(batch, error) {
    if (error.status !== 0 || navigator.onLine) for (const each of batch) each.tried = true;
    this.pause = Math.min(Math.max(error.wait * 1000, this.pause * 2, 1000), LONGEST_WAIT);
  }
}

const bare = ({ tried, ...judgment }) => judgment;
