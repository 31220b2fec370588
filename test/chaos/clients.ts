import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fleet, MODEL } from './fleet.ts';
import { answerOf, questionOf } from './research-world.ts';
import { type Told, WEBHOOK_SECRET } from './told.ts';
import { type Viewed, viewRun } from './viewer.ts';

/** How a client of the storm asks: in the background with two viewers, waiting for the whole answer, or as a chat. */
export type ClientKind = 'viewed' | 'blocking' | 'chat' | 'leaving chat';

/** What the client of question `n` saw. */
export interface ClientSeen {
  kind: ClientKind;
  n: number;
  /** Of the run; undefined for chats. */
  id: string | undefined;
  cancelled: boolean;
  viewed: Viewed[];
  /** When some viewer first saw each tool call done, by its key; Unix milliseconds. */
  doneAt: Map<string, number>;
  /** When some viewer first saw a step's tool calls begin, by step: its turn was finished and stored by then. */
  turnedAt: Map<number, number>;
  /** When the client had all it would get, or left; Unix milliseconds. */
  goneAt: number;
  /** How its chat ended, for whoever has to find out. */
  ending: string;
  /** What was wrong with its answer. */
  faults: string[];
}

/** Every run of a storm says which question it is. */
const metadata = (n: number) => ({ question: `${n}` });
/** For one attempt of a client that waits, in milliseconds; above the longest freeze. */
const ATTEMPT_MS = 30_000;
const PAUSE_MS = 200;

export interface ClientsOptions {
  fleet: Fleet;
  told: Told;
  /** When the storm is given up. */
  limit: AbortSignal;
  /** How many milliseconds may pass before a run is cancelled, or a chat is left. */
  impatienceMs: number;
}

/** Clients of a storm, and what their requests came to. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly cancelMs: number[] = [];
  /** Requests that were refused or cut, and sent again. */
  refused = 0;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** Asks question `n` and stays until it is answered, or leaves. `cancel`: the run is cancelled at some moment. */
  async ask(n: number, { kind, cancel }: { kind: ClientKind; cancel: boolean }): Promise<ClientSeen> {
    const seen: ClientSeen = {
      ...{ kind, n, id: undefined, cancelled: false, viewed: [], doneAt: new Map(), turnedAt: new Map() },
      ...{ goneAt: Number.POSITIVE_INFINITY, ending: '', faults: [] },
    };
    if (kind === 'viewed') await this.#view(seen, cancel);
    else if (kind === 'blocking') await this.#wait(seen);
    else await this.#chat(seen);
    seen.goneAt = Date.now();
    return seen;
  }

  async #view(seen: ClientSeen, cancel: boolean): Promise<void> {
    const { fleet, limit } = this.#options;
    const id = await this.#submit(seen.n);
    seen.id = id;
    const view = () =>
      viewRun({
        url: fleet.url,
        id,
        headers: fleet.headers,
        dropAfterMs: 4000,
        signal: limit,
        onFrame: (frame) => noteDone(seen, frame),
      });
    const cancelling = cancel ? this.#cancel(seen, id) : undefined;
    seen.viewed = await Promise.all([view(), view()]);
    await cancelling;
  }

  /** Submits until it is accepted: the key makes sure that it is one run. */
  async #submit(n: number): Promise<string> {
    const webhook = { url: this.#options.told.of(n), secret: WEBHOOK_SECRET };
    const what = { model: MODEL, input: questionOf(n), background: true, metadata: metadata(n) };
    const body = JSON.stringify({ ...what, webhook });
    const headers = { ...this.#options.fleet.headers, 'idempotency-key': randomUUID() };
    for (;;) {
      const answer = await this.#json('/v1/responses', { method: 'POST', headers, body }, 5000);
      if (answer && typeof answer.id === 'string') return answer.id;
      await delay(PAUSE_MS);
    }
  }

  /** As the official SDKs do: the same body again, with no key, and a header that counts. */
  async #wait(seen: ClientSeen): Promise<void> {
    const body = JSON.stringify({ model: MODEL, input: questionOf(seen.n), stream: false, metadata: metadata(seen.n) });
    for (let retries = 0; ; retries++) {
      const headers = { ...this.#options.fleet.headers, 'x-stainless-retry-count': `${retries}` };
      const answer = await this.#json('/v1/responses', { method: 'POST', headers, body }, ATTEMPT_MS);
      if (answer && typeof answer.id === 'string') {
        seen.id = answer.id;
        if (answer.output_text !== answerOf(seen.n))
          seen.faults.push(`was answered ${JSON.stringify(answer).slice(-300)}`);
        return;
      }
      await delay(PAUSE_MS);
    }
  }

  /** A streamed chat. Nobody takes it over: where its instance ends, it ends with an error or a cut, never as if whole. */
  async #chat(seen: ClientSeen): Promise<void> {
    const leaving = new AbortController();
    const leave = seen.kind === 'leaving chat' ? Math.random() * this.#options.impatienceMs : ATTEMPT_MS;
    const timer = setTimeout(() => leaving.abort(), leave);
    const messages = [{ role: 'user', content: questionOf(seen.n) }];
    const body = JSON.stringify({ model: MODEL, messages, stream: true });
    let text = '';
    try {
      const headers = { ...this.#options.fleet.headers, connection: 'close' };
      const url = `${this.#options.fleet.url}/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', headers, body, signal: leaving.signal });
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) text += piece;
    } catch (thrown) {
      seen.ending = String(thrown);
      if (seen.kind === 'chat') this.refused++;
    } finally {
      clearTimeout(timer);
    }
    seen.ending += ` after ${text.length} characters: ${text.slice(-200)}`;
    const { content, whole } = contentOf(text);
    const answer = answerOf(seen.n);
    if (whole ? content !== answer : !answer.startsWith(content)) seen.faults.push(`a chat was answered ${content}`);
  }

  async #cancel(seen: ClientSeen, id: string): Promise<void> {
    await delay(Math.random() * this.#options.impatienceMs * 2);
    for (;;) {
      const began = performance.now();
      const answer = await this.#json(
        `/v1/responses/${id}/cancel`,
        { method: 'POST', headers: this.#options.fleet.headers },
        5000,
      );
      if (answer) {
        this.cancelMs.push(performance.now() - began);
        seen.cancelled = answer.status === 'cancelled';
        return;
      }
      await delay(PAUSE_MS);
    }
  }

  /** The JSON of a 2xx answer; undefined where there was none in time. */
  async #json(path: string, init: RequestInit, limitMs: number): Promise<Record<string, unknown> | undefined> {
    const { fleet, limit } = this.#options;
    limit.throwIfAborted();
    try {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), connection: 'close' };
      const response = await fetch(fleet.url + path, { ...init, headers, signal: AbortSignal.timeout(limitMs) });
      if (response.ok) return (await response.json()) as Record<string, unknown>;
      await response.body?.cancel();
    } catch {
      // Cut, or no answer in time.
    }
    this.refused++;
    return undefined;
  }
}

/** The text of a chat stream; `whole` where it ended as a whole answer does. */
function contentOf(stream: string): { content: string; whole: boolean } {
  let content = '';
  let failed = false;
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*\})$/gm)) {
    const { choices, error } = JSON.parse(data) as { choices?: { delta?: { content?: string } }[]; error?: unknown };
    content += choices?.[0]?.delta?.content ?? '';
    failed ||= error !== undefined;
  }
  return { content, whole: !failed && stream.includes('data: [DONE]') };
}

function noteDone(seen: ClientSeen, frame: string): void {
  // A tool call that begins: the turn that asked for it is over and stored.
  const step = /^event: response\.output_item\.added\n.*\\"key\\":\\"\d+\/(\d+)\/\d+\\"/s.exec(frame)?.[1];
  if (step !== undefined && !seen.turnedAt.has(Number(step))) seen.turnedAt.set(Number(step), Date.now());
  // A call that failed was cut by a cancel: it has no end of its own.
  if (!frame.startsWith('event: response.output_item.done\n') || !frame.includes('"status":"completed"')) return;
  const key = /\\"key\\":\\"([\d/]+)\\"/.exec(frame)?.[1];
  if (key !== undefined && !seen.doneAt.has(key)) seen.doneAt.set(key, Date.now());
}
