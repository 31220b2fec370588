import { z } from 'zod';

/** `GET /admin/overview`: the state of the gateway. Times are whole Unix seconds, durations milliseconds. */

const count = z.int().nonnegative();
const attempts = { attempts: count, failed: count, p50_ms: count, p95_ms: count };
/** Where a failure occurred: in the response to a request, at the end of a run, or in a call of a provider. */
const where = z.enum(['request', 'run', 'provider']);

export const overview = z.object({
  object: z.literal('overview'),
  time: z.int(),
  /** Id of the instance that made the overview. */
  instance: z.string(),
  /** Instances that share the store and were alive within the last seconds. */
  instances: z.array(
    z.object({
      id: z.string(),
      host: z.string(),
      pid: z.int(),
      started_at: z.int(),
      executing: count,
      memory_mb: count,
      /** Its latest attempts, at most 200 per provider. */
      providers: z.array(z.object({ name: z.string(), ...attempts })),
      /** Its latest failures, at most 200. */
      failures: z.array(z.object({ where: z.string(), code: z.string(), count, last_at: z.int() })),
    }),
  ),
  runs: z.object({ queued: count, in_progress: count, max_queued: count, max_concurrent: count }),
  ready: z.boolean(),
  /** Why it is not ready. */
  reasons: z.array(z.string()),
  providers: z.array(
    z.object({
      name: z.string(),
      usable: z.boolean(),
      /** Calls in progress. */
      running: count,
      /** How long the provider asked to wait; 0 if it did not. */
      paused_ms: count,
      /** Upstream models that were called. A circuit that is not closed rejects requests for `retry_in_ms`. */
      models: z.array(
        z.object({ model: z.string(), circuit: z.enum(['closed', 'open', 'probing']), retry_in_ms: count }),
      ),
      /** The latest attempts of this instance, at most 200. */
      recent: z.object(attempts),
      /**
       * The minutes of the last hour in which this instance called the provider, oldest first. `p50_ms` and `p95_ms` are
       * times to the first token of streams, 0 without any; `opened`: how often one of its circuits opened.
       */
      minutes: z.array(z.object({ at: z.int(), ...attempts, opened: count })),
    }),
  ),
  keys: z.array(
    z.object({
      id: z.string(),
      user: z.string(),
      admin: z.boolean(),
      mcp_servers: z.boolean(),
      /** Null: all. */
      models: z.array(z.string()).nullable(),
      /** Only limits that are set. `used`: the current use. */
      limits: z.array(z.object({ name: z.string(), limit: z.number(), used: z.number() })),
    }),
  ),
  /** What a research run may use, by model and effort. `cost` is null if it is not limited. */
  budgets: z.array(
    z.object({
      model: z.string(),
      effort: z.enum(['low', 'medium', 'high']),
      /** Whether this is the effort of requests that name none. */
      default: z.boolean(),
      turns: count,
      tool_calls: count,
      tokens: count,
      minutes: z.number(),
      cost: z.number().nullable(),
    }),
  ),
  /** The latest failures of this instance, at most 200. */
  failures: z.object({
    by_code: z.array(z.object({ where, code: z.string(), count, last_at: z.int() })),
    latest: z.array(
      z.object({
        at: z.int(),
        where,
        /** The error code, or the kind of failure of an attempt. */
        code: z.string(),
        model: z.string(),
        /** Id of the API key; empty if none was accepted. */
        key: z.string(),
        provider: z.string(),
        /** HTTP status of the provider; 0 if it did not answer. */
        status: count,
      }),
    ),
  }),
});

export type Overview = z.output<typeof overview>;
