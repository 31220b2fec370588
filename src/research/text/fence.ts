import { hash } from 'node:crypto';

/** Text from outside inside of messages, marked as data. */

/** The fence of a run: its mark holds a nonce that nobody outside can know, so that no page can write the end of it. */
export interface Fence {
  /** What stands between the angle brackets, such as `tool_result-qhwzxkpvbnrd`. */
  readonly mark: string;
  /** The text between the marks. Whatever in it looks like a mark is broken. */
  around(text: string): string;
  /** A text in which earlier parts were fenced without a nonce, with the marks of this run. */
  renew(text: string): string;
}

/** The fence that belongs to a run: the same for the same id, so that a run taken up again sends the same bytes. */
export function createFence(runId: string): Fence {
  const digest = hash('sha256', `fence of ${runId}`, 'buffer');
  // Letters alone: whatever the run, the mark is as long in tokens.
  const nonce = Array.from(digest.subarray(0, 12), (byte) => LETTERS[byte % LETTERS.length]).join('');
  const mark = `${NAME}-${nonce}`;
  return {
    mark,
    around: (text) => wrap(text, mark),
    renew: (text) => text.replaceAll(PLAIN_MARK, (_, slash: string) => `<${slash}${mark}>`),
  };
}

/** Marks text as data where its run is not known yet; `Fence.renew` puts the run's marks in the place of these. */
export function fencePlainly(text: string): string {
  return wrap(text, NAME);
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const NAME = 'tool_result';
const PLAIN_MARK = /<(\/?)tool_result>/g;

function wrap(text: string, mark: string): string {
  return `<${mark}>\n${broken(text)}\n</${mark}>`;
}

/** A character without width parts what must not be read as a mark. */
function broken(text: string): string {
  return text.replaceAll(/<(\s*(?:\/\s*)?)tool_result/gi, '<$1tool\u200b_result');
}
