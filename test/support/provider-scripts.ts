/** An answer of a scripted provider: status, headers and a list of steps. Built with the helpers below. */
export interface Script {
  status: number;
  headers: Record<string, string>;
  /** Done in order once the headers are out. */
  steps: Step[];
  /** Milliseconds before the headers, or `forever`. */
  headersAfter?: number | 'forever';
}

export type Step =
  /** One write to the socket. */
  | { do: 'send'; bytes: string | Uint8Array }
  | { do: 'wait'; ms: number }
  /** Goes on when the promise is resolved. */
  | { do: 'until'; promise: Promise<unknown> }
  /** Keeps the connection open and silent until the other side leaves. */
  | { do: 'hang' }
  /** Destroys the connection. */
  | { do: 'cut' }
  /** Ends the response in order. */
  | { do: 'end' };

export interface ScriptedToolCall {
  id?: string;
  name: string;
  /** An object is sent as JSON. */
  arguments: string | Record<string, unknown>;
}

/** A turn of a well-behaved provider. */
export interface TurnScript {
  reasoning?: string;
  text?: string;
  toolCalls?: ScriptedToolCall[];
  /** Default: `tool_calls` if there are calls, else `stop`. Null: the stream ends without telling. */
  finish?: string | null;
  /** Null: no usage is sent. */
  usage?: Record<string, unknown> | null;
  /** Deltas into which reasoning and text are split, each; by default one per word. */
  chunks?: number;
  /** Milliseconds between two frames; 0: everything is one write. */
  pace?: number;
  /** Ends with `data: [DONE]`; default true. */
  done?: boolean;
}

const DEFAULT_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const SSE = { 'content-type': 'text/event-stream; charset=utf-8' };

/** The payloads of a turn, without framing. */
export function turnPayloads(script: TurnScript): object[] {
  const payloads: object[] = [chunk({ role: 'assistant', content: '' })];
  for (const piece of pieces(script.reasoning ?? '', script.chunks)) payloads.push(chunk({ reasoning_content: piece }));
  for (const piece of pieces(script.text ?? '', script.chunks)) payloads.push(chunk({ content: piece }));
  for (const [index, call] of (script.toolCalls ?? []).entries()) payloads.push(...toolCallPayloads(call, index));
  const finish = script.finish === undefined ? (script.toolCalls?.length ? 'tool_calls' : 'stop') : script.finish;
  if (finish !== null) payloads.push(chunk({}, finish));
  const usage = script.usage === undefined ? DEFAULT_USAGE : script.usage;
  if (usage !== null) payloads.push({ ...envelope(), choices: [], usage });
  return payloads;
}

/** A turn sent over SSE. */
export function turn(script: TurnScript = { text: 'Hello from the scripted provider.' }): Script {
  return frames(turnPayloads(script), {
    ...(script.pace === undefined ? {} : { pace: script.pace }),
    ...(script.done === undefined ? {} : { done: script.done }),
  });
}

/** Payloads framed as SSE: objects as JSON, strings as they are. `pace` 0 (the default): everything is one write. */
export function frames(
  payloads: readonly (object | string)[],
  options: { pace?: number; done?: boolean; framing?: string; headers?: Record<string, string> } = {},
): Script {
  const { pace = 0, done = true, framing = '\n\n' } = options;
  const texts = payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}`);
  if (done) texts.push('data: [DONE]');
  const steps: Step[] = [];
  if (pace === 0) steps.push({ do: 'send', bytes: Buffer.from(texts.map((text) => text + framing).join('')) });
  else for (const text of texts) steps.push({ do: 'send', bytes: text + framing }, { do: 'wait', ms: pace });
  return { status: 200, headers: { ...SSE, ...options.headers }, steps: [...steps, { do: 'end' }] };
}

/** Any bytes with any status; each element of a list is one write. */
export function raw(
  bytes: string | Uint8Array | readonly (string | Uint8Array)[],
  options: { status?: number; headers?: Record<string, string> } = {},
): Script {
  const writes = typeof bytes === 'string' || bytes instanceof Uint8Array ? [bytes] : bytes;
  return {
    status: options.status ?? 200,
    headers: options.headers ?? SSE,
    steps: [...writes.map((write): Step => ({ do: 'send', bytes: write })), { do: 'end' }],
  };
}

/** A JSON answer, such as a non-streamed completion. */
export function json(body: unknown, options: { status?: number; headers?: Record<string, string> } = {}): Script {
  const headers = { 'content-type': 'application/json', ...options.headers };
  return raw(JSON.stringify(body), { status: options.status ?? 200, headers });
}

/** An error answer. `body`: an object is JSON, a string is sent as text/html. */
export function status(
  code: number,
  options: { body?: object | string; headers?: Record<string, string>; message?: string } = {},
): Script {
  const body = options.body ?? {
    error: { message: options.message ?? `scripted ${code}`, type: 'scripted', code: null },
  };
  if (typeof body !== 'string') return json(body, { status: code, headers: options.headers ?? {} });
  return raw(body, { status: code, headers: { 'content-type': 'text/html', ...options.headers } });
}

/** Accepts the request and never answers. */
export function hang(): Script {
  return { status: 200, headers: SSE, steps: [{ do: 'hang' }], headersAfter: 'forever' };
}

/** Destroys the connection instead of answering. */
export function reset(): Script {
  return { status: 200, headers: SSE, steps: [], headersAfter: -1 };
}

/** `script` with its headers `ms` milliseconds late. */
export function slowHeaders(ms: number, script: Script = turn()): Script {
  return { ...script, headersAfter: ms };
}

/** `script` with `ms` milliseconds between its headers and its first byte; `forever`: nothing comes. */
export function slowFirstToken(ms: number | 'forever', script: Script = turn()): Script {
  return { ...script, steps: [ms === 'forever' ? { do: 'hang' } : { do: 'wait', ms }, ...script.steps] };
}

/** The first `n` frames of a turn, then the connection is destroyed. */
export function cutAfter(n: number, script: TurnScript = LONG): Script {
  return broken(n, script, [{ do: 'cut' }]);
}

/** The first `n` frames of a turn, then silence on an open connection. */
export function stallAfter(n: number, script: TurnScript = LONG): Script {
  return broken(n, script, [{ do: 'hang' }]);
}

/** The first `n` frames of a turn, then the body ends in order, without a finish reason. */
export function endAfter(n: number, script: TurnScript = LONG): Script {
  return broken(n, script, [{ do: 'end' }]);
}

/** The first `n` frames of a turn, then `payload` (text as it is), then the rest. */
export function insertAfter(n: number, payload: object | string, script: TurnScript = LONG): Script {
  const payloads: (object | string)[] = turnPayloads(script);
  payloads.splice(n, 0, payload);
  return frames(payloads, { pace: script.pace ?? 0 });
}

/** A whole turn without `[DONE]`, then an open connection. */
export function neverEnds(script: TurnScript = LONG): Script {
  const whole = turn({ ...script, done: false });
  return { ...whole, steps: [...whole.steps.slice(0, -1), { do: 'hang' }] };
}

const LONG: TurnScript = { reasoning: 'one two three', text: 'four five six seven' };

function broken(n: number, script: TurnScript, end: Step[]): Script {
  const bytes = turnPayloads(script)
    .slice(0, n)
    .map((payload) => `data: ${JSON.stringify(payload)}\n\n`)
    .join('');
  return { status: 200, headers: SSE, steps: [...(bytes ? [{ do: 'send', bytes } as const] : []), ...end] };
}

function envelope() {
  return { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted' };
}

/** One streamed chunk with this delta. */
export function chunk(delta: object, finish: string | null = null): object {
  return { ...envelope(), choices: [{ index: 0, delta, finish_reason: finish }] };
}

function toolCallPayloads(call: ScriptedToolCall, index: number): object[] {
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
  const id = call.id ?? `call_${index + 1}`;
  const half = Math.ceil(text.length / 2);
  return [
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: text.slice(0, half) } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] }),
  ];
}

function pieces(text: string, count: number | undefined): string[] {
  if (text === '') return [];
  if (count === undefined) return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
  const size = Math.max(1, Math.ceil(text.length / count));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}
