import type { AttemptFailure } from '../upstream/provider-answer.ts';
import type { Answer, Receiver, ReceiverControl } from '../upstream/provider-target.ts';

/** What became of asking one provider. */
export type AttemptResult =
  /** The answer is whole in memory; nothing of it went to the client. */
  | { is: 'answered'; answer: Answer; tokens: number | null }
  /** It went to the client to its end, or, with `failure`, broke off in a way that the client was told of. */
  | { is: 'delivered'; tokens: number | null; failure?: AttemptFailure }
  /** Nothing that counts went to the client. `answer`: what the provider said, where it is one to pass on. */
  | { is: 'failed'; failure: AttemptFailure; answer?: Answer };

export type ResultReceiver = Receiver<AttemptResult>;
export type ResultControl = ReceiverControl<AttemptResult>;
