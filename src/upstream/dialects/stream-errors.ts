import { isObject } from '../../base/json.ts';

/**
 * Whether a payload inside a 200 stream tells of a failure: `{"error": ...}` (most), `{"object": "error"}` (Mistral,
 * vLLM), `{"type": "error"}`, a bare `{"message"}` or `{"detail"}`, MiniMax's `base_resp` with a status, Cloudflare's
 * `{"success": false, "errors": [...]}`, Baidu's `{"error_code", "error_msg"}`.
 */
export function isStreamError(payload: Record<string, unknown>): boolean {
  const { error } = payload;
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  if (payload.object === 'error' || payload.type === 'error') return true;
  if (isObject(payload.base_resp) && Number(payload.base_resp.status_code ?? 0) !== 0) return true;
  if ('choices' in payload || 'usage' in payload) return false;
  if (payload.success === false) return true;
  return TELLING.some((key) => {
    const text = payload[key];
    return (typeof text === 'string' && text !== '') || (Array.isArray(text) && text.length > 0);
  });
}

const TELLING = ['message', 'detail', 'msg', 'error_message', 'error_msg', 'errorMessage', 'errors'];
