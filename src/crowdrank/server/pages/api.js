// The server's API, and the token that the browser keeps for it.

const place = location.pathname.match(/^(.*)\/s\/([^/]+)(?:\/dashboard)?\/?$/) ?? ["", "", ""];
export const root = `${place[1]}/api/v1/studies/${place[2]}`;
export const studyPath = `${place[1]}/s/${place[2]}`;

/** What the server said, or that it could not be reached (status 0). */
export class ApiError extends Error {
  constructor(status, body = {}) {
    super(body.error ?? `The server answered ${status}.`);
    Object.assign(this, { status, body, code: body.code, wait: 0 });
  }

  /** The same request may work later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

async function answerOf(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const error = new ApiError(response.status, body);
  error.wait = Number(response.headers.get("Retry-After")) || 0;
  throw error;
}

/** call("POST", "/join", {body: {}}): the JSON of the answer, or an ApiError. */
export async function call(method, path, options = {}) {
  return answerOf(await send(method, path, options));
}

export async function send(method, path, { token, body, raw, signal, keepalive } = {}) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body !== undefined ? JSON.stringify(body) : raw;
  try {
    return await fetch(root + path, { method, headers, body: content, signal, keepalive, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { error: "The server cannot be reached.", code: "offline" });
  }
}

/** A secret from the address (#token=…), which is taken out of the address bar and of the history at once. */
export function takeFragment(name) {
  const value = new URLSearchParams(location.hash.slice(1)).get(name);
  if (value) history.replaceState(null, "", location.pathname + location.search);
  return value;
}

/** What the browser remembers of this study; nothing where storage is refused. */
export class Memory {
  constructor(part) {
    this.prefix = `crowdrank:${studyPath}:${part}`;
  }

  get(name = "") {
    try {
      return JSON.parse(localStorage.getItem(this.prefix + name));
    } catch {
      return null;
    }
  }

  /** Whether it is kept. */
  set(value, name = "") {
    try {
      localStorage.setItem(this.prefix + name, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  }

  remove(name = "") {
    try {
      localStorage.removeItem(this.prefix + name);
    } catch {
      // storage is refused: nothing was kept
    }
  }

  names() {
    try {
      return Object.keys(localStorage)
        .filter((name) => name.startsWith(this.prefix))
        .map((name) => name.slice(this.prefix.length));
    } catch {
      return [];
    }
  }
}

/** 128 random bits: the key of a judgment, the same however often it is sent. */
export function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
