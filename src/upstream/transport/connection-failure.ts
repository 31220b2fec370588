import { causesOf } from '../../base/errors.ts';
import { AttemptFailure, brokenStream, timedOut } from '../routing/attempt-failure.ts';
import type { Phase } from './deadline.ts';

/** The failure that a network error means. */
export function failureOfConnection(error: unknown): AttemptFailure {
  if (error instanceof AttemptFailure) return error;
  const code = networkCode(error);
  const failure = code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' ? timedOut : brokenStream;
  return failure(`the connection failed (${code})`);
}

const EXCEEDED: Readonly<Record<Phase, (ms: number) => string>> = {
  connection: (ms) => `no connection of \`max_connections\` was free within ${ms} ms`,
  headers: (ms) => `no answer within ${ms} ms`,
  'first token': (ms) => `no token within ${ms} ms of the answer`,
  idle: (ms) => `the stream stalled for ${ms} ms`,
  error: (ms) => `an error that did not end within ${ms} ms`,
  total: (ms) => `no whole answer within ${ms} ms`,
};

/** The failure that an exceeded time limit means. */
export function failureOfDeadline(phase: Phase, ms: number): AttemptFailure {
  const failure = timedOut(EXCEEDED[phase](ms));
  // The provider has not been asked.
  return phase === 'connection' ? failure.with({ unhealthy: false }) : failure;
}

/** The first code of a network error in the chain of causes. */
function networkCode(error: unknown): string {
  for (const cause of causesOf(error)) {
    if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && /^[A-Z_]+$/.test(cause.code))
      return cause.code;
  }
  return 'unknown fault';
}
