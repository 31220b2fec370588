import type { ModelProxy as Gateway } from '../gateway/proxy-call.ts';

export type { ProxyCall, ProxyOutcome } from '../gateway/proxy-call.ts';

/** Proxy models as the HTTP floor sees them: background tasks reach them through runs. */
export type ModelProxy = Pick<Gateway, 'forward'>;
