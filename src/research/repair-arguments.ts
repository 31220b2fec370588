import { isObject, parseJson } from '../base/json.ts';

/**
 * The arguments of a tool call as JSON text of an object (contract section 10). Broken JSON as models write it is
 * repaired: code fences, trailing commas, single quotes, unclosed brackets, doubled encoding. Where that fails the
 * text is kept as `{"raw": "<text>"}`.
 */
export function repairArguments(text: string): { arguments: string; ok: boolean } {
  const trimmed = stripFence(text.trim());
  if (trimmed === '') return { arguments: '{}', ok: true };
  for (const candidate of candidates(trimmed)) {
    const value = parseJson(candidate);
    if (isObject(value)) return { arguments: candidate === text ? text : JSON.stringify(value), ok: true };
    if (typeof value === 'string') {
      const inner = parseJson(value);
      if (isObject(inner)) return { arguments: JSON.stringify(inner), ok: true };
    }
  }
  return { arguments: JSON.stringify({ raw: text }), ok: false };
}

function* candidates(text: string): Generator<string> {
  yield text;
  const object = text.slice(Math.max(0, text.indexOf('{')));
  const commas = object.replace(/,\s*([}\]])/g, '$1');
  yield commas;
  yield close(commas);
  const last = commas.lastIndexOf('}');
  if (last !== -1) yield commas.slice(0, last + 1);
  yield close(commas.replace(/([{,]\s*)([A-Za-z_]\w*)\s*:/g, '$1"$2":').replaceAll("'", '"'));
}

function stripFence(text: string): string {
  const match = /^```(?:json)?\s*([\s\S]*?)\s*```$/.exec(text);
  return match?.[1] ?? text;
}

/** Closes what a cut text left open: a string, then brackets in reverse order. */
function close(text: string): string {
  const open: string[] = [];
  let inString = false;
  let escaped = false;
  for (const char of text) {
    if (escaped) escaped = false;
    else if (inString && char === '\\') escaped = true;
    else if (char === '"') inString = !inString;
    else if (!inString && char === '{') open.push('}');
    else if (!inString && char === '[') open.push(']');
    else if (!inString && (char === '}' || char === ']')) open.pop();
  }
  return (inString ? `${text}"` : text).replace(/[,:\s]+$/, '') + open.reverse().join('');
}
