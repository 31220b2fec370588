import { hash } from 'node:crypto';

/** Marks text from outside as data inside messages. */

/** The fence of a run. Its tag has a nonce that nobody outside can know, so that no page can close it. */
export interface Fence {
  /** The name of the tag, such as `tool_result-qhwzxkpvbnrd`. */
  readonly mark: string;
  /** The text between tags. Anything in it that looks like a tag is defused. */
  around(text: string): string;
  /** Takes the tags off the texts that `isKnown` recognises between them, of the first 20. */
  unwrap(text: string, isKnown: (inner: string) => boolean): string;
  /** Replaces the tags of `fenceWithoutNonce` in a text with those of this run. */
  renew(text: string): string;
}

/** The fence of a run. It is the same for the same id, so that a resumed run sends the same bytes. */
export function createFence(runId: string): Fence {
  const digest = hash('sha256', `fence of ${runId}`, 'buffer');
  // Only letters, so that the tag has about the same number of tokens in every run.
  const nonce = Array.from(digest.subarray(0, 12), (byte) => LETTERS[byte % LETTERS.length]).join('');
  const mark = `${NAME}-${nonce}`;
  return {
    mark,
    around: (text) => wrap(text, mark),
    unwrap: (text, isKnown) => unwrap(text, mark, isKnown),
    renew: (text) => text.replaceAll(PLAIN_MARK, (_, slash: string) => `<${slash}${mark}>`),
  };
}

/** Marks text as data before its run is known; `Fence.renew` replaces these tags with the run's. */
export function fenceWithoutNonce(text: string): string {
  return wrap(text, NAME);
}

/** A tag of any run's fence. */
export const FENCE_TAG = /<\/?tool_result-[a-z]{12}>/y;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const NAME = 'tool_result';
/** The tag of `fenceWithoutNonce`. */
export const PLAIN_TAG = `<${NAME}>`;
const PLAIN_MARK = /<(\/?)tool_result>/g;

function wrap(text: string, mark: string): string {
  return `<${mark}>\n${defuse(text)}\n</${mark}>`;
}

/** How many texts of a message are looked up: each lookup may read all results. */
const MAX_REPEATED = 20;

function unwrap(text: string, mark: string, isKnown: (inner: string) => boolean): string {
  const [opening, closing] = [`<${mark}>`, `</${mark}>`];
  const pieces = text.split(closing);
  const last = pieces.pop() ?? '';
  const opened = pieces.map((piece, index) => {
    const at = piece.lastIndexOf(opening);
    const inner = piece.slice(at + opening.length).trim();
    const isRepeated = at !== -1 && index < MAX_REPEATED && isKnown(inner);
    return isRepeated ? piece.slice(0, at) + inner : piece + closing;
  });
  return opened.join('') + last;
}

/** A zero-width character breaks up what must not be read as a tag. */
function defuse(text: string): string {
  return text.replaceAll(/<(\s*(?:\/\s*)?)tool_result/gi, '<$1tool\u200b_result');
}
