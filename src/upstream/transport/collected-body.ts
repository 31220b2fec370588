import type { AttemptFailure } from '../routing/attempt-failure.ts';
import type { Receiver, ReceiverControl } from './provider-call.ts';

/** Collects a body of up to `limit` bytes, and makes the result once it is complete, too long or broken. */
export function collectedBody<T>(
  control: ReceiverControl<T>,
  result: {
    limit: number;
    whole(body: Buffer): T;
    tooLong(body: Buffer): T;
    broken(failure: AttemptFailure, body: Buffer): T;
  },
): Receiver<T> {
  const pieces: Buffer[] = [];
  let size = 0;
  const body = () => Buffer.concat(pieces);
  return {
    data(chunk) {
      if (size === 0) control.started();
      pieces.push(chunk);
      size += chunk.length;
      if (size > result.limit) control.finish(result.tooLong(body()));
    },
    end: () => result.whole(body()),
    broken: (failure) => result.broken(failure, body()),
  };
}
