import type { JsonObject } from '../../../base/json.ts';

const MARK: JsonObject = { type: 'ephemeral' };
/** A mark finds what was cached before it within so many blocks. */
const LOOK_BACK = 20;
/** Marks in messages; one more stands behind the instructions, and there may be four. */
const MOST = 3;

/**
 * Marks where the cache ends: behind the instructions (tools stand before them), and at the end of the conversation. A
 * mark looks back 20 blocks only, so a turn with many results gets further ones.
 */
export function markCache(body: JsonObject, messages: readonly { role: string; content: JsonObject[] }[]): void {
  const { system } = body;
  if (Array.isArray(system)) {
    const last = system.at(-1);
    if (typeof last === 'object' && last !== null && !Array.isArray(last)) last.cache_control = MARK;
  }
  let since = LOOK_BACK;
  let marks = 0;
  for (const { content } of messages.toReversed()) {
    for (let at = content.length - 1; at >= 0 && marks < MOST; at -= 1) {
      const block = content[at];
      since += 1;
      if (since < LOOK_BACK || !block || !isMarkable(block)) continue;
      content[at] = { ...block, cache_control: MARK };
      since = 0;
      marks += 1;
    }
  }
}

/** Thoughts cannot be marked. */
function isMarkable({ type }: JsonObject): boolean {
  return type === 'text' || type === 'tool_use' || type === 'tool_result' || type === 'image';
}
