import type { PassDelta, TurnDelta } from '../../upstream/turn.ts';
import type { Step } from './steps.ts';

/**
 * Takes steps while the loop waits for its model: what the model says goes from the network to the buffer of the log writer within one call,
 * without a promise of its own. A step that another one has to wait for is yielded instead.
 */
export interface LiveSteps {
  /** Whether one can be taken now. */
  readonly open: boolean;
  take(step: Step): void;
}

/** Takes a step that a delta gave. */
export type TakeStep = (step: Step) => void;

/** Longer deltas are read in pieces with pauses, so that one that holds a whole answer does not stop everybody else. */
export const LONGEST_AT_ONCE = 4096;

/** A delta in pieces that are read at once; one piece where it is empty. */
export function* piecesOf(delta: string, most = LONGEST_AT_ONCE): Generator<string> {
  for (let at = 0; at < delta.length || at === 0; ) {
    const end = endOfPiece(delta, at + most);
    yield delta.slice(at, end);
    at = Math.max(end, at + 1);
  }
}

/** Where a piece ends: not between the halves of a character. */
export function endOfPiece(text: string, end: number): number {
  return /[\udc00-\udfff]/.test(text[end] ?? '') ? end + 1 : end;
}

/** Has the deltas of a turn read as they come; those that cannot be are left to the iteration. */
export function readLive(
  live: LiveSteps | undefined,
  read: (delta: TurnDelta, take: TakeStep) => void,
  canRead: (delta: TurnDelta) => boolean = () => true,
): PassDelta | undefined {
  if (!live) return undefined;
  const take: TakeStep = (step) => live.take(step);
  return (part) => {
    if (!live.open || part.delta.length > LONGEST_AT_ONCE || !canRead(part)) return false;
    read(part, take);
    return true;
  };
}

/** The steps that `read` gives, one after the other; also those that came before it threw. */
export function* stepsOf(read: (take: TakeStep) => void): Generator<Step> {
  const steps: Step[] = [];
  try {
    read((step) => steps.push(step));
  } finally {
    yield* steps;
  }
}
