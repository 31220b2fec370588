import { isObject } from '../../base/json.ts';

const MAX_NAMES = 50;
const MAX_NAME = 64;

/** Fields that are acted on only in part: the names of the parts that are. */
const KNOWN_PARTS: Readonly<Record<string, readonly string[]>> = {
  reasoning: ['effort', 'summary'],
  text: ['format'],
  stream_options: ['include_usage'],
};

/**
 * `x-ignored-parameters` (contract section 2): fields that were accepted and are not acted on. Names come from the
 * client, so whatever a header cannot hold is percent-encoded, and there is a bound.
 */
export function ignoredHeader(
  unknown: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const names = [...unknown];
  if (isEmpty(body.tools)) names.push('tools');
  if (isEmpty(body.text)) names.push('text');
  for (const [field, known] of Object.entries(KNOWN_PARTS)) {
    const value = body[field];
    if (!isObject(value)) continue;
    for (const [part, content] of Object.entries(value)) {
      if (!known.includes(part) && content !== null) names.push(`${field}.${part}`);
    }
  }
  if (names.length === 0) return {};
  const shown = names.slice(0, MAX_NAMES).map((name) => encodeURIComponent(name.slice(0, MAX_NAME).toWellFormed()));
  return { 'x-ignored-parameters': shown.join(', ') };
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
