import { isObject } from '../../base/json.ts';
import { readFinishReason } from '../decoding/finish-reason.ts';

type Payload = Record<string, unknown>;

/**
 * Whether a payload inside a 200 reports a failure, whatever API it is of: `{"error": ...}` (most), `{"object": "error"}`
 * (Mistral, vLLM), `{"type": "error"}`, MiniMax's `base_resp` with a status, Cloudflare's
 * `{"success": false, "errors": [...]}`, Baidu's `{"error_code", "error_msg"}`, and nothing but words of an error
 * (DashScope's `{"code", "message"}`). An `error` that is null or holds nothing is none beside an answer.
 */
export function isPlainError(payload: Payload): boolean {
  const { error, object, type } = payload;
  if (isTold(error) || object === 'error' || type === 'error') return true;
  const { base_resp: base, success, error_code: code } = payload;
  if (isObject(base) && Number(base.status_code ?? 0) !== 0) return true;
  if (success === false && isTold(payload.errors)) return true;
  return (Number(code ?? 0) !== 0 && tells(payload)) || isBare(payload);
}

/**
 * The same of an API whose form is known: without any of the fields that its `answers` are in, words are an error's
 * (Bedrock's `{"message"}`).
 */
export function isErrorOf(answers: readonly string[]): (payload: Payload) => boolean {
  return (payload) => {
    if (isPlainError(payload)) return true;
    if (answers.some((field) => (payload[field] ?? '') !== '')) return false;
    return payload.success === false || tells(payload);
  };
}

const isChatError = isErrorOf(['choices', 'usage']);
/** The same of the Responses API, and of Anthropic's Messages: of events, and of answers that came whole. */
export const isResponseError = isErrorOf(['type', 'object', 'output']);
export const isMessageError = isErrorOf(['type', 'content']);

/** The same of chat completions, where a choice may have an `error` of its own or a `finish_reason` that says so. */
export function isStreamError(payload: Payload): boolean {
  return isChatError(payload) || brokenChoice(payload) !== undefined;
}

/** A choice that its provider gave up. */
export function brokenChoice({ choices }: Payload): Payload | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices
    .filter(isObject)
    .find((choice) => isTold(choice.error) || readFinishReason(choice.finish_reason) === 'broken');
}

/** Whether a field says anything: null, false, zero and what holds nothing else do not. */
function isTold(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Object.values(value).some((entry) => Boolean(isObject(entry) ? Object.keys(entry).length : entry));
}

const TELLING = ['message', 'detail', 'msg', 'error_message', 'error_msg', 'errorMessage', 'errors'];

function tells(payload: Payload): boolean {
  return TELLING.some((key) => {
    const text = payload[key];
    return (typeof text === 'string' && text !== '') || (Array.isArray(text) && text.length > 0);
  });
}

/** What stands in an error besides its words. */
const BESIDE = new Set(['code', 'status', 'status_code', 'request_id', 'requestId', 'type', 'param', ...TELLING]);
/** Codes of what went well. */
const FINE = /^(?:0|200|ok|success)$/i;

/** Nothing but an error: a lone `error` or `detail`, or words with a code. */
function isBare(payload: Payload): boolean {
  const { error, detail, code, status, status_code: number = status } = payload;
  const isAlone = (error ?? detail ?? null) !== null && error !== false;
  const isCoded = (isTold(code) && !FINE.test(String(code))) || Number(number) >= 400;
  if (!isAlone && !(isCoded && tells(payload))) return false;
  const names = Object.keys(payload).filter((name) => payload[name] !== null);
  return (isAlone && names.length === 1) || (isCoded && tells(payload) && names.every((name) => BESIDE.has(name)));
}
