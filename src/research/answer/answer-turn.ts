import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { leastTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnDelta } from '../../upstream/turn.ts';
import { piecesOf, stepsOf, type TakeStep } from '../run/live-steps.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { takeReasoning } from '../turns.ts';
import { AnswerBound } from './answer-bound.ts';
import type { AnswerRequest } from './answer-request.ts';
import { citedSteps, takeCited, type Written } from './answer-steps.ts';
import { type CitedAnswer, citedInSlices } from './cited-answer.ts';
import { Continuation } from './continuation.ts';
import type { MayShow } from './safe-markup.ts';
import { ShownThoughts } from './shown-thoughts.ts';

export interface ShownText {
  cited: CitedAnswer;
  /** The most tokens that it may have. */
  limit: number;
  /** The message is open: thoughts cannot be shown any more. */
  inMessage?: boolean;
  /** What of the model's text is left out; all of it is shown where it is absent. */
  filter?: { push(text: string): string; end(): string; readonly hasShown: boolean };
}

/** This side ends the answer; `Written.cut` says why. */
export class AnswerCut extends Error {
  override readonly name = 'AnswerCut';
}

/** One turn of a text as it is written: what its model says becomes the text that the client reads. */
export class AnswerTurn {
  readonly #run: ResearchRun;
  readonly #written: Written;
  readonly #shown: ShownText;
  readonly #continuation: Continuation;
  readonly #thoughts: ShownThoughts;
  readonly #bound: AnswerBound;
  #started: boolean;
  #thought = false;

  constructor(run: ResearchRun, turn: { asked: AnswerRequest; written: Written; shown: ShownText; mayShow: MayShow }) {
    const { asked, written, shown, mayShow } = turn;
    this.#thoughts = new ShownThoughts(run.state.sources, mayShow);
    const most = run.purse.bounded
      ? leastTokens(written.text) + (asked.request.maxOutputTokens ?? 0)
      : Number.POSITIVE_INFINITY;
    this.#run = run;
    this.#written = written;
    this.#shown = shown;
    this.#continuation = new Continuation(written.text);
    this.#bound = new AnswerBound(written.text, Math.min(shown.limit, most));
    this.#started = (shown.inMessage ?? false) || written.text !== '';
  }

  /**
   * Whether a delta gives no more than its own text, and no citation whose check others would have to wait for: the text
   * of a continuation, and the first line of a section, are held back at first.
   */
  readsAtOnce({ type, delta }: TurnDelta): boolean {
    if (!this.#continuation.isDecided) return false;
    return type === 'reasoning' || (!this.#shown.filter && !this.#shown.cited.mayCite(delta));
  }

  /** A delta that may be read at once. @throws AnswerCut */
  read(part: TurnDelta, take: TakeStep): void {
    if (part.type === 'reasoning') {
      this.#think(part.delta, take);
      return;
    }
    const fresh = this.#take(this.#continuation.push(part.delta));
    if (fresh !== '') this.#show(this.#filtered(fresh), take);
    this.#throwIfCut();
  }

  /** A delta of any length. @throws AnswerCut */
  async *readInPieces(part: TurnDelta): AsyncGenerator<Step> {
    if (part.type === 'reasoning') {
      yield* stepsOf((take) => this.#think(part.delta, take));
      return;
    }
    yield* this.#writeInPieces(this.#take(this.#continuation.push(part.delta)));
    this.#throwIfCut();
  }

  /** The model is done: what was held back. */
  async *end(): AsyncGenerator<Step> {
    yield* this.#writeInPieces(this.#take(this.#continuation.end()));
    const { filter } = this.#shown;
    if (filter) yield* this.#showInSlices(filter.end());
    yield* stepsOf((take) => this.#endThoughts(take));
    this.#written.cut = this.#bound.cut;
  }

  /** Items do not interleave: what a model thinks after it began to write is not shown. */
  #think(delta: string, take: TakeStep): void {
    if (this.#started) return;
    this.#thought = true;
    takeReasoning(this.#thoughts.push(delta), take);
  }

  #endThoughts(take: TakeStep): void {
    if (!this.#thought || this.#started) return;
    takeReasoning(this.#thoughts.end(), take);
    take({ type: 'reasoning_end', status: 'completed' });
  }

  async *#writeInPieces(fresh: string): AsyncGenerator<Step> {
    if (fresh === '') return;
    for (const piece of piecesOf(fresh)) {
      yield* this.#showInSlices(this.#filtered(piece));
      if (piece.length < fresh.length) await yieldToEventLoop();
    }
  }

  /** The part of what was said that belongs to the answer. */
  #take(said: string): string {
    const fresh = this.#bound.take(said);
    this.#written.text += fresh;
    return fresh;
  }

  #filtered(fresh: string): string {
    const { filter } = this.#shown;
    return filter ? filter.push(fresh) : fresh;
  }

  #show(text: string, take: TakeStep): void {
    if (text === '') return;
    this.#endThoughts(take);
    this.#started = true;
    takeCited(this.#run, this.#shown.cited.push(text), take);
  }

  /** The same where citations are held against their sources. */
  async *#showInSlices(text: string): AsyncGenerator<Step> {
    if (text === '') return;
    yield* stepsOf((take) => this.#endThoughts(take));
    this.#started = true;
    yield* citedSteps(this.#run, await citedInSlices(this.#shown.cited.pushInSteps(text)));
  }

  #throwIfCut(): void {
    if (this.#bound.cut === null) return;
    this.#written.cut = this.#bound.cut;
    throw new AnswerCut('the answer ends here');
  }
}
