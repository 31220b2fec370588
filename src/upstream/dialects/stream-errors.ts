import { isObject } from '../../base/json.ts';

/**
 * Whether a payload inside a 200 stream tells of a failure: `{"error": ...}` (most), `{"object": "error"}` (Mistral,
 * vLLM), `{"type": "error"}`, a bare `{"message"}` or `{"detail"}`, MiniMax's `base_resp` with a status.
 */
export function isStreamError(payload: Record<string, unknown>): boolean {
  const { error } = payload;
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  if (payload.object === 'error' || payload.type === 'error') return true;
  if (isObject(payload.base_resp) && Number(payload.base_resp.status_code ?? 0) !== 0) return true;
  if ('choices' in payload || 'usage' in payload) return false;
  return ['message', 'detail', 'msg', 'error_message'].some((key) => {
    const text = payload[key];
    return (typeof text === 'string' && text !== '') || Array.isArray(text);
  });
}
