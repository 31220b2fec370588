import { type JsonObject, parseJson } from '../base/json.ts';
import { type AttemptFailure, brokenStream } from '../upstream/provider-answer.ts';
import { isJsonObject } from './event-lines.ts';

/** How a stream begins. */
export type StreamOpening =
  /** Nothing yet, or only what keeps connections alive. */
  | { is: 'waiting' }
  /** With a payload that is no error. */
  | { is: 'begun'; first: JsonObject }
  | { is: 'failed'; failure: AttemptFailure };

export interface OpeningRules {
  isError(payload: JsonObject): boolean;
  failureOf(payload: JsonObject): AttemptFailure;
}

const LF = 0x0a;
const FIELD = /^(?:data|event|id|retry)(?::|$)/;

/** How a stream begins, by the whole lines that came so far. */
export function openingOf(lines: Buffer, rules: OpeningRules): StreamOpening {
  let data = '';
  for (const line of textLines(lines)) {
    if (line === '') {
      if (data !== '') return failed('the stream begins with malformed JSON');
      continue;
    }
    if (line.startsWith(':')) continue;
    if (!FIELD.test(line)) return failed('the answer is no event stream');
    if (!line.startsWith('data:')) continue;
    data += `${data === '' ? '' : '\n'}${line.slice('data:'.length).trim()}`;
    const opening = data === '' ? undefined : openingWith(data, rules);
    if (opening) return opening;
  }
  return { is: 'waiting' };
}

/** One line after the other, without their ends: only the first few of a long piece are needed. */
function* textLines(lines: Buffer): Generator<string> {
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LF, start);
    if (end === -1) return;
    yield lines
      .toString('utf8', start, end)
      .replace(/\r$/, '')
      .replace(/^\uFEFF/, '');
    start = end + 1;
  }
}

function openingWith(data: string, rules: OpeningRules): StreamOpening | undefined {
  if (data === '[DONE]') return failed('the stream is empty');
  if (!data.startsWith('{')) return failed('the stream begins with something else than JSON');
  const payload = parseJson(data);
  if (!isJsonObject(payload)) return undefined;
  return rules.isError(payload) ? { is: 'failed', failure: rules.failureOf(payload) } : { is: 'begun', first: payload };
}

/** What a stream's answer means that ended before it began. `rest`: all that came. */
export function failureOfUnopened(rest: string, rules: OpeningRules): AttemptFailure {
  const text = rest.trim();
  if (text.startsWith('<')) return brokenStream('an HTML page instead of a stream');
  const payload = text.startsWith('{') ? parseJson(text) : undefined;
  if (isJsonObject(payload) && rules.isError(payload)) return rules.failureOf(payload);
  return brokenStream(text === '' ? 'the stream is empty' : 'the answer is no event stream');
}

function failed(message: string): StreamOpening {
  return { is: 'failed', failure: brokenStream(message) };
}
