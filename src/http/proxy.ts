import type { ModelProxy as Gateway } from '../gateway/model-proxy.ts';

export type { ProxyCall, ProxyOutcome } from '../gateway/model-proxy.ts';

/** Proxy models as the HTTP floor sees them: background tasks reach them through runs. */
export type ModelProxy = Pick<Gateway, 'forward'>;
