import { GATEWAY } from './address.js';
import { eventsIn } from './sse.js';

/** An answer that is not a stream takes no longer, in milliseconds. */
const TIMEOUT_MS = 30_000;
const UPLOAD_TIMEOUT_MS = 600_000;
/** Nothing is drawn before the hints are there, or given up. */
const HINTS_MS = 5000;

/** What the gateway refused, in its own words. `code` is `unreachable` where no answer came. */
export class ApiError extends Error {
  name = 'ApiError';

  constructor({ code, message, status = 0, param = null, requestId = '' }, options) {
    super(message, options);
    Object.assign(this, { code, status, param, requestId });
  }
}

/** What lies below one address of the API, and what can be done with it. Answers are read as JSON. */
class Resource {
  #path;
  #ask;

  constructor(path, ask) {
    this.#path = path;
    this.#ask = ask;
  }

  list(query) {
    return this.#ask(withQuery(this.#path, query));
  }

  get(id) {
    return this.#ask(this.#pathOf(id));
  }

  create(body, options) {
    return this.#ask(this.#path, { method: 'POST', body, ...options });
  }

  change(id, body) {
    return this.#ask(this.#pathOf(id), { method: 'PATCH', body });
  }

  remove(id) {
    return this.#ask(this.#pathOf(id), { method: 'DELETE' });
  }

  /** What belongs to one of them, such as its `timeline`. */
  part(id, name, query) {
    return this.#ask(withQuery(`${this.#pathOf(id)}/${name}`, query));
  }

  /** Does something with one of them, such as `cancel`. */
  act(id, verb, body) {
    return this.#ask(`${this.#pathOf(id)}/${verb}`, { method: 'POST', body });
  }

  #pathOf(id) {
    return `${this.#path}/${encodeURIComponent(id)}`;
  }
}

/**
 * A client of the public API, with nothing that other clients cannot do. The key goes into a header, never into an
 * address.
 */
export class Client {
  /** What was read with this key, by the ids of runs: another one must not see it. */
  questions = new Map();
  timelines = new Map();
  #key;
  #onDenied;
  responses = this.#resource('v1/responses');
  tasks = this.#resource('v1/async');
  files = this.#resource('v1/files');
  collections = this.#resource('v1/vector_stores');
  deliveries = this.#resource('v1/webhook_deliveries');
  keys = this.#resource('admin/keys');

  constructor(key, { onDenied = () => {} } = {}) {
    this.#key = key;
    this.#onDenied = onDenied;
  }

  /** Submits a run in the background; `once` makes a repeat after an unknown outcome harmless. */
  submit(body, { once }) {
    return this.responses.create({ ...body, background: true }, { headers: { 'idempotency-key': once } });
  }

  /** Events after `after`, in arrays, until the run or the connection ends. */
  async *stream(id, { after, signal, onBytes, onOpen }) {
    const path = `v1/responses/${encodeURIComponent(id)}?stream=true&after=${after}`;
    const answer = await this.#fetch(path, { signal, headers: { accept: 'text/event-stream' } });
    onOpen();
    yield* eventsIn(answer.body, { onBytes });
  }

  /** The report as `{name, blob}`. */
  async report(id, format) {
    const answer = await this.#fetch(`v1/responses/${encodeURIComponent(id)}/report?format=${format}`);
    const said = answer.headers.get('content-disposition') ?? '';
    const own = /filename\*=UTF-8''([^;]+)/i.exec(said)?.[1];
    const name = own ? decodeURIComponent(own) : /filename="([^"]+)"/i.exec(said)?.[1];
    return { name: name ?? `report.${format}`, blob: await answer.blob() };
  }

  /** A document of the user's own, for requests to name. */
  upload(file) {
    const body = new FormData();
    body.append('purpose', 'user_data');
    body.append('file', file, file.name);
    return this.files.create(body, { signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS) });
  }

  async usageCsv(query) {
    return await (await this.#fetch(withQuery('admin/usage', { ...query, format: 'csv' }))).blob();
  }

  /** Prometheus text; needs no key. */
  async metrics() {
    return await (await this.#fetch('metrics')).text();
  }

  /** What stands at an address of the API. */
  read(path, query) {
    return this.#json(withQuery(path, query));
  }

  #resource(path) {
    return new Resource(path, (inside, options) => this.#json(inside, options));
  }

  async #json(path, options) {
    return await (await this.#fetch(path, options)).json();
  }

  async #fetch(path, { method = 'GET', body, headers = {}, signal } = {}) {
    let answer;
    const isForm = body instanceof FormData;
    try {
      answer = await fetch(new URL(path, GATEWAY), {
        method,
        signal: signal ?? AbortSignal.timeout(TIMEOUT_MS),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        headers: {
          authorization: `Bearer ${this.#key}`,
          ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      });
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw new ApiError({ code: 'unreachable', message: 'The gateway cannot be reached.' }, { cause });
    }
    if (answer.ok) return answer;
    const error = await refusal(answer);
    if (error.status === 401) this.#onDenied(error);
    throw error;
  }
}

/** What the page knows before anybody has signed in: the key that is no secret, while the gateway accepts it. */
export async function startHints() {
  const answer = await fetch(new URL('console/start.json', GATEWAY), {
    cache: 'no-store',
    credentials: 'omit',
    signal: AbortSignal.timeout(HINTS_MS),
  });
  return answer.ok ? await answer.json() : {};
}

async function refusal(answer) {
  const requestId = answer.headers.get('x-request-id') ?? '';
  const { error } = await answer.json().catch(() => ({}));
  const message = error?.message ?? `The gateway answered ${answer.status}.`;
  return new ApiError({
    code: error?.code ?? 'unknown',
    param: error?.param ?? null,
    message,
    status: answer.status,
    requestId,
  });
}

function withQuery(path, query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}
