/**
 * What a provider's answer says, whatever its API: failures, usage, why it ended. Together with `upstream.ts` (whom to
 * ask) and `provider-target.ts` (how to ask), this is all that the proxy in `gateway/` needs.
 */

export { CallMeter, isCredible, isPlausible, usageOf } from './call-meter.ts';
export {
  type AnswerSigns,
  chatSigns,
  embeddingSigns,
  messageSigns,
  type ReadSigns,
  responseSigns,
  saysSomething,
} from './decoding/answer-signs.ts';
export { answersText, deliveredWeight } from './decoding/delivered-text.ts';
export { BYTES_PER_TOKEN, formTokens, promptTokens } from './decoding/estimate.ts';
export { EventStream, MAX_FRAME } from './decoding/event-stream.ts';
export { readFinishReason } from './decoding/finish-reason.ts';
export { promptsIn, requestedAnswers, requestedNumber } from './decoding/requested-answers.ts';
export { readInputUsage, readUsage } from './decoding/usage.ts';
export { partsOf } from './dialects/content-parts.ts';
export {
  brokenChoice,
  isErrorOf,
  isMessageError,
  isPlainError,
  isResponseError,
  isStreamError,
} from './dialects/stream-errors.ts';
export { AttemptFailure, brokenStream, timedOut } from './routing/attempt-failure.ts';
export { refusesCredential } from './routing/refusals.ts';
export { gatewayErrorOf } from './routing/turn-failure.ts';
export { failureOfConnection } from './transport/connection-failure.ts';
export type { TurnUsage } from './turn.ts';
export { totalsOf, type UsageTotals } from './usage-totals.ts';
