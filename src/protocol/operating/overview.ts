import { z } from 'zod';

/** `GET /admin/overview`: what operators see of a gateway. Times are whole Unix seconds, durations milliseconds. */

const count = z.int().nonnegative();
const attempts = { attempts: count, failed: count, p50_ms: count, p95_ms: count };
/** In an answer to a request, at the end of a run, or in an attempt at a provider. */
const where = z.enum(['request', 'run', 'provider']);

export const overview = z.object({
  object: z.literal('overview'),
  time: z.int(),
  /** Id of the instance that answers. */
  instance: z.string(),
  /** Instances that share the store and were heard of within the last seconds. */
  instances: z.array(
    z.object({
      id: z.string(),
      host: z.string(),
      pid: z.int(),
      started_at: z.int(),
      executing: count,
      memory_mb: count,
      /** Its latest attempts, 200 a provider at most. */
      providers: z.array(z.object({ name: z.string(), ...attempts })),
      /** Failures that it remembers, 200 at most. */
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
      /** Exchanges under way. */
      running: count,
      /** How long the provider asked to wait; 0 where it did not. */
      paused_ms: count,
      /** Upstream models that were used. A circuit that is not closed keeps requests away for `retry_in_ms`. */
      models: z.array(
        z.object({ model: z.string(), circuit: z.enum(['closed', 'open', 'probing']), retry_in_ms: count }),
      ),
      /** The latest attempts of the instance that answers, 200 at most. */
      recent: z.object(attempts),
      /**
       * The minutes of the last hour in which the instance that answers asked it, oldest first; `p50_ms` and `p95_ms` are
       * times to the first token of its streams, 0 without any; `opened`: how often one of its circuits opened.
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
      /** Only limits that are set. `used`: what counts against it now. */
      limits: z.array(z.object({ name: z.string(), limit: z.number(), used: z.number() })),
    }),
  ),
  /** What a research run may use, by model and effort. `cost` is null where nothing bounds it. */
  budgets: z.array(
    z.object({
      model: z.string(),
      effort: z.enum(['low', 'medium', 'high']),
      /** Whether a request without an effort gets this one. */
      default: z.boolean(),
      turns: count,
      tool_calls: count,
      tokens: count,
      minutes: z.number(),
      cost: z.number().nullable(),
    }),
  ),
  /** Failures that the instance that answers remembers, 200 at most. */
  failures: z.object({
    by_code: z.array(z.object({ where, code: z.string(), count, last_at: z.int() })),
    latest: z.array(
      z.object({
        at: z.int(),
        where,
        /** Error code, or the kind of an attempt's failure. */
        code: z.string(),
        model: z.string(),
        /** Id of the API key; empty where none was accepted. */
        key: z.string(),
        provider: z.string(),
        /** HTTP status of the provider, 0 if there was none. */
        status: count,
      }),
    ),
  }),
});

export type Overview = z.output<typeof overview>;
