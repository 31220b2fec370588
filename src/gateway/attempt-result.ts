import type { AttemptFailure, TurnUsage } from '../upstream/provider-answer.ts';
import type { BufferedAnswer, Receiver, ReceiverControl } from '../upstream/provider-target.ts';

/** How an attempt on one route ended. */
export type AttemptResult =
  /** The answer is complete in memory, and none of it was written to the client. */
  | { is: 'answered'; answer: BufferedAnswer; usage: TurnUsage | null }
  /**
   * The answer was written to the client. `failure`: it broke off, and the client was sent the error. `midway`: more
   * content followed the event that reported `usage`.
   */
  | { is: 'delivered'; usage: TurnUsage | null; midway?: boolean; failure?: AttemptFailure }
  /**
   * Another route may be called: the client got nothing, only comments, or a beginning that the next route continues.
   * `answer`: the provider's error, if the client may see it. `usage`: what the provider reported, if anything.
   */
  | { is: 'failed'; failure: AttemptFailure; answer?: BufferedAnswer; usage?: TurnUsage };

export type ResultReceiver = Receiver<AttemptResult>;
export type ResultControl = ReceiverControl<AttemptResult>;
