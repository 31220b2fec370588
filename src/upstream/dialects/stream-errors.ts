import { isObject } from '../../base/json.ts';
import { readFinishReason } from '../decoding/finish-reason.ts';

/**
 * Whether a payload inside a 200 stream reports a failure: `{"error": ...}` (most), `{"object": "error"}` (Mistral,
 * vLLM), `{"type": "error"}`, a bare `{"message"}` or `{"detail"}`, MiniMax's `base_resp` with a status, Cloudflare's
 * `{"success": false, "errors": [...]}`, Baidu's `{"error_code", "error_msg"}`, a choice with an `error` of its own
 * (OpenRouter) or with a `finish_reason` that says so (`error`).
 */
export function isStreamError(payload: Record<string, unknown>): boolean {
  if (isPlainError(payload)) return true;
  if (isObject(payload.base_resp) && Number(payload.base_resp.status_code ?? 0) !== 0) return true;
  if (brokenChoice(payload)) return true;
  if ('choices' in payload || 'usage' in payload) return false;
  if (payload.success === false) return true;
  return TELLING.some((key) => {
    const text = payload[key];
    return (typeof text === 'string' && text !== '') || (Array.isArray(text) && text.length > 0);
  });
}

/** The same for APIs whose answers may well have a `message` or a `detail`. */
export function isPlainError(payload: Record<string, unknown>): boolean {
  const { error, object, type, detail } = payload;
  // Nothing but a detail is what a server's framework says of a failure.
  const isBare = isTold(detail) && Object.keys(payload).length === 1;
  return isTold(error) || object === 'error' || type === 'error' || isBare;
}

/** A choice that its provider gave up. */
export function brokenChoice({ choices }: Record<string, unknown>): Record<string, unknown> | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices
    .filter(isObject)
    .find((choice) => isTold(choice.error) || readFinishReason(choice.finish_reason) === 'broken');
}

function isTold(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false && error !== '';
}

const TELLING = ['message', 'detail', 'msg', 'error_message', 'error_msg', 'errorMessage', 'errors'];
