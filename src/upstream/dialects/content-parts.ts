import { isObject } from '../../base/json.ts';
import { imageUrlIn } from '../../protocol/made-images.ts';

/** The text of a part; of an image its URL. */
interface ReadPart {
  kind: 'reasoning' | 'text' | 'image';
  text: string;
}

/**
 * The parts, in order, of content that is a list instead of a string (Mistral: `{type: "thinking", thinking: [{type:
 * "text"}]}` and `{type: "text", text}`; proxies of other APIs use similar forms).
 */
export function* partsOf(content: readonly unknown[]): Generator<ReadPart> {
  for (const part of content) {
    if (typeof part === 'string') yield { kind: 'text', text: part };
    else if (isObject(part)) {
      if (part.type === 'thinking' || part.type === 'reasoning') {
        yield { kind: 'reasoning', text: textIn(part.thinking ?? part.reasoning ?? part.text) };
      } else if (typeof part.text === 'string') yield { kind: 'text', text: part.text };
      else {
        const url = imageUrlIn(part);
        if (url !== undefined) yield { kind: 'image', text: url };
      }
    }
  }
}

function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return isObject(value) ? textIn(value.text) : '';
  return value.map(textIn).join('');
}
