import type { DeltaSink, TurnDelta } from '../../upstream/turn.ts';
import type { Step } from './steps.ts';

/**
 * Takes steps while the loop waits for the model: a delta goes from the network to the buffer of the log writer in one
 * call, without a promise of its own. A step that has to be stored before the next one is yielded instead.
 */
export interface LiveSteps {
  /** Whether a step can be taken now. */
  readonly isOpen: boolean;
  take(step: Step): void;
}

export type EmitStep = (step: Step) => void;

/** Longer deltas are read in pieces with pauses: a delta that holds a whole answer must not block the event loop. */
export const MAX_PIECE_LENGTH = 4096;

/** Splits a delta into pieces that are each read without a pause; an empty delta is one piece. */
export function* splitDelta(delta: string): Generator<string> {
  for (let at = 0; at < delta.length || at === 0; ) {
    const end = pieceEnd(delta, at + MAX_PIECE_LENGTH);
    yield delta.slice(at, end);
    at = Math.max(end, at + 1);
  }
}

/** `end`, moved if it would split a surrogate pair. */
export function pieceEnd(text: string, end: number): number {
  return /[\udc00-\udfff]/.test(text[end] ?? '') ? end + 1 : end;
}

/** A sink that reads the deltas of a turn as they arrive; those it refuses come through the iteration. */
export function readLive(
  live: LiveSteps | undefined,
  read: (delta: TurnDelta, emit: EmitStep) => void,
  canRead: (delta: TurnDelta) => boolean = () => true,
): DeltaSink | undefined {
  if (!live) return undefined;
  const emit: EmitStep = (step) => live.take(step);
  return (part) => {
    if (!live.isOpen || part.delta.length > MAX_PIECE_LENGTH || !canRead(part)) return false;
    read(part, emit);
    return true;
  };
}

/** Yields the steps that `read` takes, including those that it took before it threw. */
export function* stepsOf(read: (emit: EmitStep) => void): Generator<Step> {
  const steps: Step[] = [];
  try {
    read((step) => steps.push(step));
  } finally {
    yield* steps;
  }
}
