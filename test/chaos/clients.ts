import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SocketClient } from '../support/socket-client.ts';
import { type Fleet, MODEL, PLAIN_MODEL } from './fleet.ts';
import { answerOf, callKey, FUNCTION, LOOKED_UP, questionOf, type ResearchWorld } from './research-world.ts';
import { type Viewed, viewRun } from './viewer.ts';
import { WEBHOOK_SECRET, type WebhookReceivers } from './webhook-receivers.ts';

/**
 * How a client of the storm asks: a research model in the background with two viewers, waiting for the whole answer, or as a
 * chat; a plain model in the background, in a conversation, or over a WebSocket, with a function of its own.
 */
export type ClientKind =
  | 'viewed'
  | 'blocking'
  | 'chat'
  | 'leaving chat'
  | 'plain'
  | 'conversation'
  | 'socket'
  | 'unstored socket';

/** A run that a client knows of. `part`: what it comes to, the whole research, or of a plain model's one half. */
export interface SeenRun {
  id: string;
  /** The number of its question. */
  n: number;
  /** As its metadata say it: no other run has the same. */
  question: string;
  part: 'research' | 'calls' | 'answer';
  cancelled: boolean;
  viewed: Viewed[];
}

/** What a client saw. */
export interface ClientSeen {
  kind: ClientKind;
  n: number;
  /** None of chats and of what is not stored. */
  runs: SeenRun[];
  /** When some viewer first saw each tool call done, by its key; Unix milliseconds. */
  doneAt: Map<string, number>;
  /** When some viewer first saw a step's tool calls begin, by its key: its turn was finished and stored by then. */
  turnedAt: Map<string, number>;
  /** When the client had all it would get, or left; Unix milliseconds. */
  goneAt: number;
  /** Requests of it may have become runs that it does not know of. */
  strays: boolean;
  /** How its chat ended, for whoever has to find out. */
  ending: string;
  /** What was wrong with its answer. */
  faults: string[];
}

/** Every run of a storm says which question it is. */
const metadata = (question: string) => ({ question });
/** For one attempt of a client that waits, in milliseconds; above the longest freeze. */
const ATTEMPT_MS = 30_000;
const PAUSE_MS = 200;
/** What a client asks that begins anew has another number, of the same kind. */
const ANEW = 1_000_000;

export interface ClientsOptions {
  fleet: Fleet;
  world: ResearchWorld;
  receivers: WebhookReceivers;
  /** When the storm is given up. */
  limit: AbortSignal;
  /** How many milliseconds may pass before a run is cancelled, or a chat is left. */
  impatienceMs: number;
}

/** Clients of a storm, and what their requests came to. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly cancelMs: number[] = [];
  /** How long conversations were held by runs that nobody knew of. */
  readonly lockedMs: number[] = [];
  /** Requests that were refused or cut, and sent again. */
  refused = 0;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** Asks question `n` and stays until it is answered, or leaves. `cancel`: the run is cancelled at some moment. */
  async ask(n: number, { kind, cancel }: { kind: ClientKind; cancel: boolean }): Promise<ClientSeen> {
    const seen: ClientSeen = {
      ...{ kind, n, runs: [], doneAt: new Map(), turnedAt: new Map() },
      ...{ goneAt: Number.POSITIVE_INFINITY, strays: false, ending: '', faults: [] },
    };
    try {
      await this.#ask(seen, cancel);
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      seen.faults.push(thrown.message);
    }
    seen.goneAt = Date.now();
    return seen;
  }

  async #ask(seen: ClientSeen, cancel: boolean): Promise<void> {
    const { n } = seen;
    const question = `${n}`;
    switch (seen.kind) {
      case 'viewed': {
        const webhook = { url: this.#options.receivers.of(n), secret: WEBHOOK_SECRET };
        const what = { model: MODEL, input: questionOf(n), webhook };
        await this.#view(seen, { what, part: 'research', question, cancel });
        return;
      }
      case 'blocking':
        return await this.#wait(seen);
      case 'plain':
        return await this.#answerFunction(seen, { cancel });
      case 'conversation':
        return await this.#converse(seen);
      case 'socket':
      case 'unstored socket':
        return await this.#speak(seen);
      default:
        return await this.#chat(seen);
    }
  }

  /** Submits one run in the background, and stays with two viewers. */
  async #view(
    seen: ClientSeen,
    { what, cancel = false, ...run }: { what: object; cancel?: boolean } & Pick<SeenRun, 'part' | 'question'>,
  ): Promise<SeenRun> {
    const id = await this.#submit({ ...what, background: true, metadata: metadata(run.question) });
    const made: SeenRun = { ...run, id, n: seen.n, cancelled: false, viewed: [] };
    seen.runs.push(made);
    const cancelling = cancel ? this.#cancel(made) : undefined;
    made.viewed = await Promise.all([this.#follow(seen, id), this.#follow(seen, id)]);
    await cancelling;
    return made;
  }

  async #follow(seen: ClientSeen, id: string, after = 0): Promise<Viewed> {
    const { fleet, limit: signal } = this.#options;
    const onFrame = (frame: string) => noteDone(seen, frame);
    return await viewRun({ url: fleet.url, id, headers: fleet.headers, dropAfterMs: 4000, signal, onFrame, after });
  }

  /** Submits until it is accepted: the key makes sure that it is one run. */
  async #submit(what: object): Promise<string> {
    const body = JSON.stringify(what);
    const headers = { ...this.#options.fleet.headers, 'idempotency-key': randomUUID() };
    const began = performance.now();
    let isLocked = false;
    for (;;) {
      const answer = await this.#json('/v1/responses', { method: 'POST', headers, body }, 5000);
      if (answer && typeof answer.id === 'string') {
        if (isLocked) this.lockedMs.push(performance.now() - began);
        return answer.id;
      }
      isLocked ||= answer !== undefined;
      await delay(PAUSE_MS);
    }
  }

  /** A run that stops for the client's function, and one that goes on with its output. */
  async #answerFunction(
    seen: ClientSeen,
    { cancel = false, further }: { cancel?: boolean; further?: object },
  ): Promise<void> {
    const { n } = seen;
    const common = { ...this.#plain(), ...further };
    const what = { ...common, input: questionOf(n) };
    const first = await this.#view(seen, { what, part: 'calls', question: `${n}`, cancel });
    if (first.cancelled || this.#options.limit.aborted) return;
    const input = [outputOf(n)];
    const next = { ...common, input, ...(further === undefined && { previous_response_id: first.id }) };
    await this.#view(seen, { what: next, part: 'answer', question: `${n}+` });
  }

  /** What asks the plain model, with a tool that runs at the gateway and one that does not. */
  #plain() {
    const server = { type: 'mcp', server_label: 'world', server_url: this.#options.world.tool.url };
    const own = { type: 'function', name: FUNCTION, parameters: { type: 'object', properties: {} } };
    return { model: PLAIN_MODEL, tools: [{ ...server, require_approval: 'never' }, own] };
  }

  /** The same in a conversation, which has every item once behind it. */
  async #converse(seen: ClientSeen): Promise<void> {
    const { n } = seen;
    const { headers } = this.#options.fleet;
    let conversation: unknown;
    while (typeof conversation !== 'string') {
      conversation = (await this.#json('/v1/conversations', { method: 'POST', headers, body: '{}' }, 5000))?.id;
      if (conversation === undefined) await delay(PAUSE_MS);
    }
    await this.#answerFunction(seen, { further: { conversation } });
    let held: Record<string, unknown> | undefined;
    while (!held) {
      held = await this.#json(`/v1/conversations/${conversation}/items?limit=100&order=asc`, { headers }, 5000);
      if (!held) await delay(PAUSE_MS);
    }
    const types = (held.data as { type: string }[]).map(({ type }) => type);
    // A thought that was cut is there, too.
    const said = types.filter((type) => type !== 'reasoning').join(' ');
    if (said !== CONVERSATION) seen.faults.push(`the conversation of question ${n} has ${said}`);
  }

  /** The same over a WebSocket. Where it breaks, what is stored is read on over HTTP; else all begins anew. */
  async #speak(seen: ClientSeen): Promise<void> {
    const store = seen.kind === 'socket';
    for (let attempt = 0; ; attempt++) {
      const n = seen.n + attempt * ANEW;
      const common = { ...this.#plain(), store };
      const call = await this.#create(seen, { ...common, input: questionOf(n) }, { n, part: 'calls', attempt });
      const more = call && { ...common, input: [outputOf(n)], previous_response_id: call.id };
      const answer = more && (await this.#create(seen, more, { n, part: 'answer', attempt, on: call.socket }));
      await (answer ?? call)?.socket?.[Symbol.asyncDispose]();
      if (answer) return;
      this.#options.limit.throwIfAborted();
      // Of what was begun nothing is looked at: nobody knows which of it there is.
      seen.runs = [];
      seen.strays = true;
      await delay(PAUSE_MS);
    }
  }

  /** One response on a socket, read to its end; undefined where it is lost. */
  async #create(
    seen: ClientSeen,
    what: object,
    { on, attempt, ...run }: { on?: SocketClient | undefined; attempt: number } & Pick<SeenRun, 'n' | 'part'>,
  ): Promise<{ id: string; socket: SocketClient | undefined } | undefined> {
    const { fleet, limit } = this.#options;
    const store = seen.kind === 'socket';
    const question = `${run.n}${run.part === 'calls' ? '' : `+${attempt}`}`;
    const key = fleet.headers.authorization?.slice('Bearer '.length) ?? '';
    let socket = on;
    const viewed: Viewed = { bytes: Buffer.alloc(0), connections: 1, longestPauseMs: 0, pausedUntil: 0 };
    let id: string | undefined;
    let last = 0;
    try {
      socket ??= await SocketClient.open(fleet, { key, handshakeTimeout: 5000 });
      const { ws } = socket;
      using _ = closeAt(AbortSignal.any([limit, AbortSignal.timeout(ATTEMPT_MS)]), () => ws.terminate());
      socket.create({ ...what, metadata: metadata(question) });
      for (let over = false; !over; ) {
        const { type, ...fields } = await socket.next(() => true);
        if (type === 'error') throw refusedOr(JSON.stringify(fields));
        const frame = `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}`;
        viewed.bytes = Buffer.concat([viewed.bytes, Buffer.from(`${frame}\n\n`)]);
        noteDone(seen, frame);
        last = Number(fields.sequence_number);
        if (type === 'response.created') id = (fields.response as { id: string }).id;
        over = /^response\.(completed|failed|incomplete)$/.test(type);
      }
    } catch (thrown) {
      if (thrown instanceof Refused) throw thrown;
      this.refused++;
      await socket?.[Symbol.asyncDispose]();
      socket = undefined;
      if (id === undefined || !store) return undefined;
      const rest = await this.#follow(seen, id, last);
      viewed.bytes = Buffer.concat([viewed.bytes, rest.bytes]);
    }
    if (id === undefined) return undefined;
    if (store) seen.runs.push({ ...run, id, question, cancelled: false, viewed: [viewed] });
    else if (run.part === 'answer' && !viewed.bytes.includes(JSON.stringify(answerOf(run.n)))) {
      seen.faults.push(`was answered ${viewed.bytes.toString().slice(-300)}`);
    }
    return { id, socket };
  }

  /** As the official SDKs do: the same body again, with no key, and a header that counts. */
  async #wait(seen: ClientSeen): Promise<void> {
    const body = JSON.stringify({
      ...{ model: MODEL, input: questionOf(seen.n), stream: false },
      metadata: metadata(`${seen.n}`),
    });
    for (let retries = 0; ; retries++) {
      const headers = { ...this.#options.fleet.headers, 'x-stainless-retry-count': `${retries}` };
      const answer = await this.#json('/v1/responses', { method: 'POST', headers, body }, ATTEMPT_MS);
      if (answer && typeof answer.id === 'string') {
        const made = { id: answer.id, n: seen.n, question: `${seen.n}` };
        seen.runs.push({ ...made, part: 'research', cancelled: false, viewed: [] });
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

  async #cancel(run: SeenRun): Promise<void> {
    await delay(Math.random() * this.#options.impatienceMs * 2);
    for (;;) {
      const began = performance.now();
      const answer = await this.#json(
        `/v1/responses/${run.id}/cancel`,
        { method: 'POST', headers: this.#options.fleet.headers },
        5000,
      );
      if (answer) {
        this.cancelMs.push(performance.now() - began);
        run.cancelled = answer.status === 'cancelled';
        return;
      }
      await delay(PAUSE_MS);
    }
  }

  /** The JSON of a 2xx answer, `{}` of one that a conversation is held; undefined where there was none in time. */
  async #json(path: string, init: RequestInit, limitMs: number): Promise<Record<string, unknown> | undefined> {
    const { fleet, limit } = this.#options;
    limit.throwIfAborted();
    try {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), connection: 'close' };
      const response = await fetch(fleet.url + path, { ...init, headers, signal: AbortSignal.timeout(limitMs) });
      if (response.ok) return (await response.json()) as Record<string, unknown>;
      const text = await response.text();
      if (response.status === 400 && text.includes('"conversation_locked"')) return {};
      if (response.status === 400 || response.status === 422) throw new Refused(text);
    } catch (thrown) {
      // Else cut, or no answer in time.
      if (thrown instanceof Refused) throw thrown;
    }
    this.refused++;
    return undefined;
  }
}

/** What no storm is an excuse for. */
class Refused extends Error {}

/** An error of a socket: what was unknown to another try, or to an instance that stops, is asked for anew. */
function refusedOr(error: string): Error {
  return /"status":4(?:00|22)/.test(error) && !error.includes('previous_response_not_found')
    ? new Refused(error)
    : new Error(error);
}

/** All that a conversation holds, without its thoughts. */
const CONVERSATION = [
  ...['message', 'mcp_list_tools', 'mcp_call', 'mcp_call', 'function_call'],
  ...['function_call_output', 'mcp_list_tools', 'message'],
].join(' ');

function outputOf(n: number) {
  const key = callKey(n, 1, 1);
  return { type: 'function_call_output', call_id: `call_${key.replaceAll('/', '_')}`, output: `${LOOKED_UP} ${key}` };
}

/** Calls `close` once the signal is aborted, until disposed. */
function closeAt(signal: AbortSignal, close: () => void): Disposable {
  signal.addEventListener('abort', close);
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) };
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
  const begun = /^event: response\.(?:output_item\.added|mcp_call_arguments\.done)\n/.test(frame);
  const key = /\\"key\\":\\"([\d/]+)\\"/.exec(frame)?.[1];
  if (key === undefined) return;
  const step = key.slice(0, key.lastIndexOf('/'));
  if (begun && !seen.turnedAt.has(step)) seen.turnedAt.set(step, Date.now());
  // A call that failed was cut by a cancel: it has no end of its own.
  if (!frame.startsWith('event: response.output_item.done\n') || !frame.includes('"status":"completed"')) return;
  if (!seen.doneAt.has(key)) seen.doneAt.set(key, Date.now());
}
