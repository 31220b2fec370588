import { isObject, scalarText } from '../../base/json.ts';
import { readFinishReason } from '../decoding/finish-reason.ts';

type Payload = Record<string, unknown>;

/**
 * Whether a payload inside a 200 reports a failure, for any API: `{"error": ...}` (most), `{"object": "error"}` (Mistral,
 * vLLM), `{"type": "error"}`, MiniMax's `base_resp` with a status, Cloudflare's `{"success": false, "errors": [...]}`,
 * Baidu's `{"error_code", "error_msg"}`, and a payload with nothing but an error's fields (DashScope's
 * `{"code", "message"}`). Beside an answer, an `error` that is null or empty is no failure.
 */
export function isPlainError(payload: Payload): boolean {
  const { error, object, type } = payload;
  if (hasValue(error) || object === 'error' || type === 'error') return true;
  const { base_resp: base, success, error_code: code } = payload;
  if (isObject(base) && Number(scalarText(base.status_code ?? 0)) !== 0) return true;
  if (success === false && hasValue(payload.errors)) return true;
  return (Number(scalarText(code ?? 0)) !== 0 && hasMessage(payload)) || isOnlyError(payload);
}

/**
 * As `isPlainError`, for an API whose answers always have one of `answerFields`: a payload that has none of them, but a
 * message, is an error (Bedrock's `{"message"}`).
 */
export function isErrorOf(answerFields: readonly string[]): (payload: Payload) => boolean {
  return (payload) => {
    if (isPlainError(payload)) return true;
    if (answerFields.some((field) => (payload[field] ?? '') !== '')) return false;
    return payload.success === false || hasMessage(payload);
  };
}

const isChatError = isErrorOf(['choices', 'usage']);
/** For the Responses API and Anthropic's Messages API: an event, or an answer that was not streamed. */
export const isResponseError = isErrorOf(['type', 'object', 'output']);
export const isMessageError = isErrorOf(['type', 'content']);

/** For chat completions, where a choice may also have an `error` or a `finish_reason` that means one. */
export function isStreamError(payload: Payload): boolean {
  return isChatError(payload) || brokenChoice(payload) !== undefined;
}

/** The first choice that its provider gave up, if any. */
export function brokenChoice({ choices }: Payload): Payload | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices
    .filter(isObject)
    .find((choice) => hasValue(choice.error) || readFinishReason(choice.finish_reason) === 'broken');
}

/** Whether a field holds more than null, false, zero, or a container of nothing but those. */
function hasValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Object.values(value).some((entry) => Boolean(isObject(entry) ? Object.keys(entry).length : entry));
}

const MESSAGES = ['message', 'detail', 'msg', 'error_message', 'error_msg', 'errorMessage', 'errors'];

function hasMessage(payload: Payload): boolean {
  return MESSAGES.some((key) => {
    const text = payload[key];
    return (typeof text === 'string' && text !== '') || (Array.isArray(text) && text.length > 0);
  });
}

/** Fields that a payload may have that is nothing but an error. */
const ERROR_KEYS = new Set(['code', 'status', 'status_code', 'request_id', 'requestId', 'type', 'param', ...MESSAGES]);
const SUCCESS_CODE = /^(?:0|200|ok|success)$/i;

/** Whether the payload is nothing but an error: a lone `error` or `detail`, or a message with an error code. */
function isOnlyError(payload: Payload): boolean {
  const { error, detail, code, status, status_code: number = status } = payload;
  const isAlone = (error ?? detail ?? null) !== null && error !== false;
  const isCoded = (hasValue(code) && !SUCCESS_CODE.test(scalarText(code))) || Number(scalarText(number)) >= 400;
  const isDescribed = isCoded && hasMessage(payload);
  if (!isAlone && !isDescribed) return false;
  const names = Object.keys(payload).filter((name) => payload[name] !== null);
  return (isAlone && names.length === 1) || (isDescribed && names.every((name) => ERROR_KEYS.has(name)));
}
