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

  constructor(key, { onDenied = () => {} } = {}) {
    this.#key = key;
    this.#onDenied = onDenied;
  }

  models() {
    return this.#json('v1/models');
  }

  /** Submits a run in the background; `once` makes a repeat after an unknown outcome harmless. */
  submit(body, { once }) {
    const headers = { 'idempotency-key': once };
    return this.#json('v1/responses', { method: 'POST', body: { ...body, background: true }, headers });
  }

  response(id) {
    return this.#json(`v1/responses/${encodeURIComponent(id)}`);
  }

  /** Events after `after`, in arrays, until the run or the connection ends. */
  async *stream(id, { after, signal, onBytes, onOpen }) {
    const path = `v1/responses/${encodeURIComponent(id)}?stream=true&after=${after}`;
    const answer = await this.#fetch(path, { signal, headers: { accept: 'text/event-stream' } });
    onOpen();
    yield* eventsIn(answer.body, { onBytes });
  }

  /** When its events were told, and what its turns took. */
  timeline(id) {
    return this.#json(`v1/responses/${encodeURIComponent(id)}/timeline`);
  }

  /** What the model was asked with in a turn of the timeline, counted from 1. */
  turnPrompt(id, turn) {
    return this.#json(`admin/responses/${encodeURIComponent(id)}/turns/${turn}`);
  }

  cancel(id) {
    return this.#json(`v1/responses/${encodeURIComponent(id)}/cancel`, { method: 'POST' });
  }

  remove(id) {
    return this.#json(`v1/responses/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }

  responses(query) {
    return this.#json(`v1/responses?${parameters(query)}`);
  }

  input(id) {
    return this.#json(`v1/responses/${encodeURIComponent(id)}/input_items?limit=100`);
  }

  tasks(query) {
    return this.#json(`v1/async?${parameters(query)}`);
  }

  task(id) {
    return this.#json(`v1/async/${encodeURIComponent(id)}`);
  }

  cancelTask(id) {
    return this.#json(`v1/async/${encodeURIComponent(id)}/cancel`, { method: 'POST' });
  }

  removeTask(id) {
    return this.#json(`v1/async/${encodeURIComponent(id)}`, { method: 'DELETE' });
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
    return this.#json('v1/files', { method: 'POST', body, signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS) });
  }

  removeFile(id) {
    return this.#json(`v1/files/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }

  files(query) {
    return this.#json(`v1/files?${parameters(query)}`);
  }

  collections(query) {
    return this.#json(`v1/vector_stores?${parameters(query)}`);
  }

  collection(id) {
    return this.#json(collectionPath(id));
  }

  createCollection(name) {
    return this.#json('v1/vector_stores', { method: 'POST', body: { name } });
  }

  removeCollection(id) {
    return this.#json(collectionPath(id), { method: 'DELETE' });
  }

  /** The files of a collection, the newest first. */
  filesIn(id, query) {
    return this.#json(`${collectionPath(id)}/files?${parameters(query)}`);
  }

  putInto(id, file) {
    return this.#json(`${collectionPath(id)}/files`, { method: 'POST', body: { file_id: file } });
  }

  /** Passages of a collection that fit a query, the best first. */
  search(id, query) {
    return this.#json(`${collectionPath(id)}/search`, { method: 'POST', body: { query } });
  }

  deliveries(run) {
    return this.#json(`v1/webhook_deliveries?${parameters({ run })}`);
  }

  redeliver(id) {
    return this.#json(`v1/webhook_deliveries/${encodeURIComponent(id)}/redeliver`, { method: 'POST' });
  }

  keys(query) {
    return this.#json(`admin/keys?${parameters(query)}`);
  }

  /** With what counts against its limits now. */
  key(id) {
    return this.#json(keyPath(id));
  }

  /** What it gets when it asks for a model. */
  explainKey(id, model) {
    return this.#json(`${keyPath(id)}/explain?${parameters({ model })}`);
  }

  /** The answer holds the secret, as that of a rotation does. */
  createKey(body) {
    return this.#json('admin/keys', { method: 'POST', body });
  }

  updateKey(id, changes) {
    return this.#json(keyPath(id), { method: 'PATCH', body: changes });
  }

  rotateKey(id, overlap) {
    return this.#json(`${keyPath(id)}/rotate`, { method: 'POST', body: { overlap_seconds: overlap } });
  }

  removeKey(id) {
    return this.#json(keyPath(id), { method: 'DELETE' });
  }

  usage(query) {
    return this.#json(`admin/usage?${parameters(query)}`);
  }

  async usageCsv(query) {
    return await (await this.#fetch(`admin/usage?${parameters({ ...query, format: 'csv' })}`)).blob();
  }

  /** With secrets masked. */
  config() {
    return this.#json('admin/config');
  }

  audit(query) {
    return this.#json(`admin/audit?${parameters(query)}`);
  }

  overview() {
    return this.#json('admin/overview');
  }

  /** Prometheus text; needs no key. */
  async metrics() {
    return await (await this.#fetch('metrics')).text();
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

function collectionPath(id) {
  return `v1/vector_stores/${encodeURIComponent(id)}`;
}

function keyPath(id) {
  return `admin/keys/${encodeURIComponent(id)}`;
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

function parameters(query) {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(set.map(([name, value]) => [name, String(value)]));
}
