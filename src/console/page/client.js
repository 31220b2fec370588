import { GATEWAY } from './address.js';
import { eventsIn } from './sse.js';

/** Time limit of an answer that is not a stream, in milliseconds. */
const TIMEOUT_MS = 30_000;
const UPLOAD_TIMEOUT_MS = 600_000;
/** The page draws nothing until its start hints are there, or this is over. */
const HINTS_MS = 5000;

/** An error in the gateway's own words; `code` is `unreachable` if no answer came. */
export class ApiError extends Error {
  name = 'ApiError';

  constructor({ code, message, status = 0, param = null, requestId = '' }, options) {
    super(message, options);
    Object.assign(this, { code, status, param, requestId });
  }
}

/** One resource of the API, such as `v1/responses`. Answers are parsed as JSON. */
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

  /** A part of one of its items, such as the `timeline` of a response. */
  part(id, name, query) {
    return this.#ask(withQuery(`${this.#pathOf(id)}/${name}`, query));
  }

  /** Posts an action on one of its items, such as `cancel`. */
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
  /** Caches by run id. They belong to this key: a user who signs in with another one must not see them. */
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

  /** Submits a run in the background; `idempotencyKey` makes a repeat after an unknown outcome harmless. */
  submit(body, { idempotencyKey }) {
    return this.responses.create({ ...body, background: true }, { headers: { 'idempotency-key': idempotencyKey } });
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
    const disposition = answer.headers.get('content-disposition') ?? '';
    const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
    const name = encoded ? decodeURIComponent(encoded) : /filename="([^"]+)"/i.exec(disposition)?.[1];
    return { name: name ?? `report.${format}`, blob: await answer.blob() };
  }

  /** Uploads a document, which requests may then name by its id. */
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
    const error = await errorOf(answer);
    if (error.status === 401) this.#onDenied(error);
    throw error;
  }
}

/** What the page knows before a sign-in: the well-known key, while the gateway accepts it. */
export async function startHints() {
  const answer = await fetch(new URL('console/start.json', GATEWAY), {
    cache: 'no-store',
    credentials: 'omit',
    signal: AbortSignal.timeout(HINTS_MS),
  });
  return answer.ok ? await answer.json() : {};
}

async function errorOf(answer) {
  const requestId = answer.headers.get('x-request-id') ?? '';
  const { error } = await answer.json().catch(() => ({}));
  const message = error?.message ?? `The gateway answered with status ${answer.status}.`;
  return new ApiError({
    code: error?.code ?? 'unknown',
    param: error?.param ?? null,
    message,
    status: answer.status,
    requestId,
  });
}

function withQuery(path, query = {}) {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return parameters.length === 0 ? path : `${path}?${new URLSearchParams(parameters)}`;
}
