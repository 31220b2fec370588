/**
 * What a provider's answer says, whatever API it is of: failures, usage, the reason of its end. Together with
 * `upstream.ts` (whom to ask) and `provider-target.ts` (how to ask) this is all that passing on needs to know.
 */
export { AttemptFailure, brokenStream } from './attempt-failure.ts';
export { isStreamError } from './dialects/stream-errors.ts';
export { readFinishReason } from './finish-reason.ts';
export { gatewayErrorOf } from './gateway-error.ts';
export { readUsage } from './usage.ts';
