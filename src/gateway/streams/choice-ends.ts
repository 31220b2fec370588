import { isObject, type JsonObject } from '../../base/json.ts';
import { readFinishReason } from '../../upstream/provider-answer.ts';

/** Choices that are told apart at most: a provider may number them as it likes. */
const MOST = 1024;

/** Which choices of a stream have spoken, and which of them have ended. */
export class ChoiceEnds {
  readonly #asked: number;
  readonly #seen = new Set<number>();
  readonly #ended = new Set<number>();

  /** `asked`: how many there should be. */
  constructor(asked: number) {
    this.#asked = asked;
  }

  note({ choices }: JsonObject): void {
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isObject(choice)) continue;
      const index = Number(choice.index ?? 0);
      if (!(index >= 0 && index < MOST)) continue;
      const end = readFinishReason(choice.finish_reason);
      this.#seen.add(index);
      if (end !== undefined && end !== 'broken') this.#ended.add(index);
    }
  }

  /** Whether every choice has its finish reason. A provider may make fewer than were asked for, if it ends in order. */
  areWhole({ inOrder }: { inOrder: boolean }): boolean {
    const isEnded = this.#ended.size > 0 && this.#seen.size === this.#ended.size;
    return isEnded && (inOrder || this.#ended.size >= Math.min(this.#asked, MOST));
  }
}
