import {
  cutAfter,
  frames,
  hang,
  insertAfter,
  json,
  neverEnds,
  raw,
  type Script,
  slowFirstToken,
  slowHeaders,
  stallAfter,
  status,
  type TurnScript,
  turn,
  turnPayloads,
} from './provider-scripts.ts';

/** A way in which a provider fails, for streams and for whole answers. */
export interface ChatFault {
  name: string;
  /** `refused`: nothing listens. */
  script: 'refused' | ((stream: boolean) => Script);
}

/** Longer than the time limits of a gateway under test. */
const TOO_LONG_MS = 20_000;

/** What a faulty provider says, as far as it comes. */
const TURN: TurnScript = { text: 'one two three four five six seven' };
const COMPLETION = JSON.stringify(completion(TURN.text ?? ''));
const JSON_TYPE = { 'content-type': 'application/json' };

/** The body of a completion that is not streamed. */
export function completion(text: string, fields: object = {}): object {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'scripted',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ...fields,
  };
}

/** A good answer, streamed or whole. */
export function goodAnswer(text: string, stream: boolean): Script {
  return stream ? turn({ text }) : json(completion(text));
}

const REFUSAL = { error: { message: 'The model is overloaded.', type: 'server_error', code: 500 } };

export const CHAT_FAULTS: readonly ChatFault[] = [
  { name: 'refused connection', script: 'refused' },
  { name: 'slow headers', script: (stream) => slowHeaders(TOO_LONG_MS, goodAnswer('late', stream)) },
  { name: 'no headers at all', script: () => hang() },
  { name: 'slow first token', script: (stream) => slowFirstToken(TOO_LONG_MS, goodAnswer('late', stream)) },
  { name: 'stall in the middle', script: (stream) => (stream ? stallAfter(4, TURN) : part(100, 'hang')) },
  { name: 'cut after the headers', script: (stream) => (stream ? cutAfter(0, TURN) : part(0, 'cut')) },
  { name: 'cut after the first chunk', script: (stream) => (stream ? cutAfter(1, TURN) : part(20, 'cut')) },
  { name: 'cut after several chunks', script: (stream) => (stream ? cutAfter(5, TURN) : part(100, 'cut')) },
  { name: '401', script: () => status(401, { message: 'Incorrect API key provided.' }) },
  { name: '404', script: () => status(404, { message: 'The model does not exist.' }) },
  { name: '408', script: () => status(408) },
  { name: '429 with Retry-After', script: () => status(429, { headers: { 'retry-after': '7' } }) },
  { name: '429 without Retry-After', script: () => status(429) },
  { name: '500', script: () => status(500) },
  { name: '502 with an HTML page', script: () => status(502, { body: '<html><title>Bad gateway</title></html>' }) },
  { name: '503', script: () => status(503) },
  { name: 'empty 200', script: (stream) => raw('', { headers: stream ? EVENTS : JSON_TYPE }) },
  {
    name: 'error first, status 200',
    script: (stream) => (stream ? frames([REFUSAL], { done: false }) : json(REFUSAL)),
  },
  {
    name: 'error in the middle',
    script: (stream) => (stream ? insertAfter(4, REFUSAL, TURN) : json(completion('cut sho', REFUSAL))),
  },
  {
    name: 'malformed JSON first',
    script: (stream) => (stream ? frames(['{"id": "chatcmpl-', ...turnPayloads(TURN)]) : raw('{"id": ', OK_JSON)),
  },
  {
    name: 'malformed JSON in the middle',
    script: (stream) => (stream ? insertAfter(4, '{"id": "chatcmpl-', TURN) : raw(COMPLETION.slice(0, -9), OK_JSON)),
  },
  {
    name: 'wrong content type',
    script: () => raw('<html><body>Please sign in.</body></html>', { headers: { 'content-type': 'text/html' } }),
  },
  {
    name: 'body ends without a finish reason',
    script: (stream) => (stream ? frames(turnPayloads({ ...TURN, finish: null }), { done: false }) : raw('', OK_JSON)),
  },
  { name: 'body never ends', script: (stream) => (stream ? neverEnds(TURN) : part(COMPLETION.length, 'hang')) },
  {
    name: 'usage missing',
    script: (stream) => (stream ? turn({ ...TURN, usage: null }) : json(completion('one two', { usage: undefined }))),
  },
];

const EVENTS = { 'content-type': 'text/event-stream' };
const OK_JSON = { headers: JSON_TYPE };

/** The first bytes of a completion, then nothing more. */
function part(length: number, end: 'cut' | 'hang'): Script {
  const bytes = COMPLETION.slice(0, length);
  return {
    status: 200,
    headers: JSON_TYPE,
    steps: [...(bytes === '' ? [] : [{ do: 'send', bytes } as const]), { do: end }],
  };
}
