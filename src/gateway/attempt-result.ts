import type { AttemptFailure, TurnUsage } from '../upstream/provider-answer.ts';
import type { HeldAnswer, Receiver, ReceiverControl } from '../upstream/provider-target.ts';

/** What became of asking one provider. */
export type AttemptResult =
  /** The answer is whole in memory; nothing of it went to the client. */
  | { is: 'answered'; answer: HeldAnswer; usage: TurnUsage | null }
  /**
   * It went to the client to its end, or, with `failure`, broke off, which the client was shown. `midway`: `usage` was told
   * before more came.
   */
  | { is: 'delivered'; usage: TurnUsage | null; midway?: boolean; failure?: AttemptFailure }
  /**
   * Another route may be asked: the client got nothing, comments, or a beginning that the next one continues; `usage` where the provider told.
   * `answer`: what the provider said, where it is one to pass on.
   */
  | { is: 'failed'; failure: AttemptFailure; answer?: HeldAnswer; usage?: TurnUsage };

export type ResultReceiver = Receiver<AttemptResult>;
export type ResultControl = ReceiverControl<AttemptResult>;
