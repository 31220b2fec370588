import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { minTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnDelta } from '../../upstream/turn.ts';
import { type EmitStep, splitDelta, stepsOf } from '../run/live-steps.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { Unfenced } from '../text/unfenced.ts';
import { emitReasoning } from '../turns.ts';
import { AnswerBound } from './answer-bound.ts';
import type { AnswerRequest } from './answer-request.ts';
import { citedSteps, emitCited, type WrittenText } from './answer-steps.ts';
import { type CitedAnswer, collectCited } from './cited-answer.ts';
import { Continuation } from './continuation.ts';
import type { MayShow } from './safe-markup.ts';
import { VisibleReasoning } from './visible-reasoning.ts';

export interface TextTarget {
  cited: CitedAnswer;
  /** In tokens. */
  limit: number;
  /** The message item is open already, so that reasoning cannot be sent any more. */
  inMessage?: boolean;
  /** Removes parts of the model's text before clients see it. */
  filter?: { push(text: string): string; end(): string; readonly hasText: boolean };
}

/** The gateway itself ends the answer; `WrittenText.cut` says why. */
export class AnswerCut extends Error {
  override readonly name = 'AnswerCut';
}

/** One turn of a text: turns the deltas of the model into the text that the client reads. */
export class AnswerTurn {
  readonly #run: ResearchRun;
  readonly #written: WrittenText;
  readonly #target: TextTarget;
  readonly #continuation: Continuation;
  readonly #unfenced: Unfenced | undefined;
  readonly #thoughts: VisibleReasoning;
  readonly #bound: AnswerBound;
  #started: boolean;
  #thought = false;

  constructor(
    run: ResearchRun,
    turn: { request: AnswerRequest; written: WrittenText; target: TextTarget; mayShow: MayShow },
  ) {
    const { request, written, target, mayShow } = turn;
    this.#thoughts = new VisibleReasoning(run.state.sources, mayShow);
    const affordable = run.costBudget.isLimited
      ? minTokens(written.text) + (request.request.maxOutputTokens ?? 0)
      : Number.POSITIVE_INFINITY;
    this.#run = run;
    this.#written = written;
    this.#target = target;
    this.#continuation = new Continuation(written.text);
    this.#unfenced = written.text === '' ? new Unfenced('markdown') : undefined;
    this.#bound = new AnswerBound(written.text, Math.min(target.limit, affordable));
    this.#started = (target.inMessage ?? false) || written.text !== '';
  }

  /**
   * Whether `read` can take this delta. False while earlier text may be held back (the start of a continuation, the first
   * line of a section), or if the delta may end a citation, whose check takes long enough to need pauses.
   */
  readsAtOnce({ type, delta }: TurnDelta): boolean {
    if (!this.#continuation.isDecided) return false;
    return type === 'reasoning' || (!this.#target.filter && !this.#target.cited.mayCite(delta));
  }

  /** Reads a delta that `readsAtOnce` accepted. @throws AnswerCut */
  read(part: TurnDelta, emit: EmitStep): void {
    if (part.type === 'reasoning') {
      this.#think(part.delta, emit);
      return;
    }
    const fresh = this.#take(this.#continuation.push(part.delta));
    if (fresh !== '') this.#show(this.#filtered(fresh), emit);
    this.#throwIfCut();
  }

  /** Reads any delta, with pauses. @throws AnswerCut */
  async *readInPieces(part: TurnDelta): AsyncGenerator<Step> {
    if (part.type === 'reasoning') {
      yield* stepsOf((emit) => this.#think(part.delta, emit));
      return;
    }
    yield* this.#writeInPieces(this.#take(this.#continuation.push(part.delta)));
    this.#throwIfCut();
  }

  /** Emits what was held back. The model is done. */
  async *end(): AsyncGenerator<Step> {
    yield* this.#writeInPieces(this.#take(this.#continuation.end()) + this.#bounded(this.#unfenced?.end() ?? ''));
    const { filter } = this.#target;
    if (filter) yield* this.#showInSlices(filter.end());
    yield* stepsOf((emit) => this.#endThoughts(emit));
    this.#written.cut = this.#bound.cut;
  }

  /** Items do not interleave: reasoning that comes after the first text is dropped. */
  #think(delta: string, emit: EmitStep): void {
    if (this.#started) return;
    this.#thought = true;
    emitReasoning(this.#thoughts.push(delta), emit);
  }

  #endThoughts(emit: EmitStep): void {
    if (!this.#thought || this.#started) return;
    emitReasoning(this.#thoughts.end(), emit);
    emit({ type: 'reasoning_end', status: 'completed' });
  }

  async *#writeInPieces(fresh: string): AsyncGenerator<Step> {
    if (fresh === '') return;
    for (const piece of splitDelta(fresh)) {
      yield* this.#showInSlices(this.#filtered(piece));
      if (piece.length < fresh.length) await yieldToEventLoop();
    }
  }

  /** The part of the new text that is within the bounds of the answer, without a fence around all of it. */
  #take(text: string): string {
    return this.#bounded(this.#unfenced?.push(text) ?? text);
  }

  /** No text begins with white space: alone, it would open a message in which nothing else may be sent before the answer. */
  #bounded(text: string): string {
    const fresh = this.#bound.take(this.#written.text === '' ? text.trimStart() : text);
    this.#written.text += fresh;
    return fresh;
  }

  #filtered(fresh: string): string {
    const { filter } = this.#target;
    return filter ? filter.push(fresh) : fresh;
  }

  #show(text: string, emit: EmitStep): void {
    if (text === '') return;
    this.#endThoughts(emit);
    this.#started = true;
    emitCited(this.#run, this.#target.cited.push(text), emit);
  }

  /** `#show` with pauses, because citations are checked against their sources. */
  async *#showInSlices(text: string): AsyncGenerator<Step> {
    if (text === '') return;
    yield* stepsOf((emit) => this.#endThoughts(emit));
    this.#started = true;
    yield* citedSteps(this.#run, await collectCited(this.#target.cited.pushInSteps(text)));
  }

  #throwIfCut(): void {
    if (this.#bound.cut === null) return;
    this.#written.cut = this.#bound.cut;
    throw new AnswerCut('the answer ends here');
  }
}
