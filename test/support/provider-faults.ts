import * as scripted from './scripted-provider.ts';

/** A fault, and its effect on clients that have and have not received anything yet. */
export interface ProviderFault {
  name: string;
  /** Absent: nothing listens. */
  script?: (n: number) => scripted.Script;
  /**
   * `next`: nothing was delivered, the next route answers. `broken`: something was delivered before the fault.
   * `none`: the answer is complete all the same.
   */
  outcome: 'next' | 'broken' | 'none';
  /** The kind of failure if no other route is left. */
  kind?: 'timeout' | 'rate_limit' | 'refused' | 'failed';
  /** Whether the same route is worth another try. */
  retried: boolean;
  /** Whether the same route is asked once more before the next one. */
  repeated?: boolean;
  /** The time limit that detects it, if the provider falls silent for good. */
  silent?: 'first_byte' | 'first_token' | 'idle';
}

/** Limits in seconds that only a provider that is silent for good exceeds, however busy the machine is. */
const PATIENT = { connect: 30, first_byte: 30, first_token: 30, idle: 30 };
/** Limits that detect silence quickly, in seconds. */
const QUICK = 0.15;

/** The time limits for calls of a provider with this fault. */
export function timeoutsFor({ silent }: Pick<ProviderFault, 'silent'>): typeof PATIENT {
  return silent ? { ...PATIENT, [silent]: QUICK } : PATIENT;
}

/** Every failure of a provider that routes must survive. */
export const FAULTS: readonly ProviderFault[] = [
  { name: 'refused connection', outcome: 'next', kind: 'failed', retried: true },
  { name: 'connection reset', script: () => scripted.reset(), outcome: 'next', kind: 'failed', retried: true },
  {
    name: 'slow headers',
    script: () => scripted.hang(),
    outcome: 'next',
    kind: 'timeout',
    retried: true,
    silent: 'first_byte',
  },
  {
    name: 'slow first token',
    script: () => scripted.slowFirstToken('forever'),
    outcome: 'next',
    kind: 'timeout',
    retried: true,
    silent: 'first_token',
  },
  {
    name: 'comments but no token',
    script: () => ({
      ...scripted.raw(''),
      steps: Array.from({ length: 400 }, (_, i) =>
        i % 2 === 0 ? ({ do: 'send', bytes: ': waiting\n\n' } as const) : ({ do: 'wait', ms: 20 } as const),
      ),
    }),
    outcome: 'next',
    kind: 'timeout',
    retried: true,
    silent: 'first_token',
  },
  {
    name: 'stall after 3 chunks',
    script: () => scripted.stallAfter(3),
    outcome: 'broken',
    kind: 'timeout',
    retried: true,
    silent: 'idle',
  },
  { name: 'cut after 0 chunks', script: () => scripted.cutAfter(0), outcome: 'next', kind: 'failed', retried: true },
  { name: 'cut after 1 chunk', script: () => scripted.cutAfter(1), outcome: 'next', kind: 'failed', retried: true },
  { name: 'cut after 4 chunks', script: () => scripted.cutAfter(4), outcome: 'broken', kind: 'failed', retried: true },
  {
    name: 'end without finish reason',
    script: () => scripted.endAfter(4),
    outcome: 'broken',
    kind: 'failed',
    retried: true,
  },
  { name: 'status 401', script: () => scripted.status(401), outcome: 'next', kind: 'refused', retried: false },
  { name: 'status 404', script: () => scripted.status(404), outcome: 'next', kind: 'refused', retried: false },
  { name: 'status 408', script: () => scripted.status(408), outcome: 'next', kind: 'timeout', retried: true },
  { name: 'status 429', script: () => scripted.status(429), outcome: 'next', kind: 'rate_limit', retried: true },
  {
    name: 'status 429 with Retry-After',
    script: () => scripted.status(429, { headers: { 'retry-after-ms': '20' } }),
    outcome: 'next',
    kind: 'rate_limit',
    retried: true,
    repeated: true,
  },
  {
    name: 'status 500',
    script: () => scripted.status(500),
    outcome: 'next',
    kind: 'failed',
    retried: true,
    repeated: true,
  },
  {
    name: 'status 502 with an HTML page',
    script: () => scripted.status(502, { body: '<html><title>Bad Gateway</title></html>' }),
    outcome: 'next',
    kind: 'failed',
    retried: true,
    repeated: true,
  },
  {
    name: 'status 503',
    script: () => scripted.status(503),
    outcome: 'next',
    kind: 'failed',
    retried: true,
    repeated: true,
  },
  { name: 'empty 200', script: () => scripted.raw(''), outcome: 'next', kind: 'failed', retried: true },
  {
    name: 'error event first',
    script: () => scripted.frames([{ error: { message: 'no capacity' } }], { done: false }),
    outcome: 'next',
    kind: 'failed',
    retried: true,
  },
  {
    name: 'error event in the middle',
    script: () =>
      scripted.insertAfter(
        4,
        { error: { message: 'no capacity' } },
        { reasoning: 'one two three', text: 'x', pace: 25 },
      ),
    outcome: 'broken',
    kind: 'failed',
    retried: true,
  },
  {
    name: 'malformed JSON first',
    script: () => scripted.insertAfter(0, '{"choices": [{"delta"'),
    outcome: 'next',
    kind: 'failed',
    retried: true,
  },
  {
    name: 'HTML page with status 200',
    script: () => scripted.raw('<html><title>Login</title></html>', { headers: { 'content-type': 'text/html' } }),
    outcome: 'next',
    kind: 'failed',
    retried: true,
  },
  {
    name: 'wrong content type',
    script: () => ({ ...scripted.turn({ text: 'primary' }), headers: { 'content-type': 'text/plain' } }),
    outcome: 'none',
    retried: false,
  },
  {
    name: 'body never ends',
    script: () => scripted.neverEnds({ text: 'primary' }),
    outcome: 'none',
    retried: false,
    silent: 'idle',
  },
  {
    name: 'cut after the finish reason',
    script: () => scripted.cutAfter(3, { text: 'primary' }),
    outcome: 'none',
    retried: false,
  },
  {
    name: 'usage missing',
    script: () => scripted.turn({ text: 'primary', usage: null }),
    outcome: 'none',
    retried: false,
  },
];

/** Starts a provider with this fault; for a refused connection, only returns an address. */
export async function startFaultyProvider(
  fault: ProviderFault,
): Promise<AsyncDisposable & { url: string; provider: scripted.ScriptedProvider | undefined }> {
  const { script } = fault;
  if (!script) {
    const url = await scripted.refusedUrl();
    return { url, provider: undefined, async [Symbol.asyncDispose]() {} };
  }
  const provider = await scripted.startScriptedProvider({ respond: (_, n) => script(n) });
  return { url: provider.url, provider, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() };
}
