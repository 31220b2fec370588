import { z } from 'zod';
import { DIALECT_NAMES } from '../dialect-names.ts';
import { seconds } from '../units.ts';
import { separateSources, textOrSource } from './refreshed.ts';
import { credential, headerName, headerValue, httpUrl, name } from './values.ts';

/** `providers`, and the routes that lead to them. */

const timeouts = z.strictObject({
  connect: seconds.prefault(5),
  /** Until the response headers. */
  first_byte: seconds.prefault(120),
  /** From the headers to the first token; as `first_byte` where absent. */
  first_token: seconds.optional(),
  /** Between two chunks. */
  idle: seconds.prefault(60),
  /** While the provider tells that its model thinks, and shows nothing of it; three times `first_token` where absent. */
  thinking: seconds.optional(),
  /**
   * Until the first token, while another route could be asked and it is not known how long this one takes; three times
   * as long for answers that are not streamed.
   */
  patience: seconds.prefault(30),
  /** A whole call, from the request to the end of the answer; absent: no limit. */
  total: seconds.optional(),
});

const builtinProvider = z.strictObject({
  builtin: z.literal('demo'),
  /** Pause between streamed words in milliseconds, so that progress can be watched. */
  pace_ms: z.int().nonnegative().max(1000).default(0),
});
const writtenProvider = z.strictObject({
  base_url: httpUrl,
  /** The API that research speaks with it: OpenAI's chat completions or Responses, Anthropic's Messages. */
  wire: z.enum(['chat', 'responses', 'messages']).default('chat'),
  api_key: textOrSource(credential).optional(),
  /** The header that holds the credential, `api_key` or a key's own; absent: as the wire has it. */
  api_key_header: headerName.optional(),
  headers: z.record(headerName, textOrSource(headerValue)).default({}),
  timeouts: timeouts.prefault({}),
  max_retries: z.int().nonnegative().max(10).default(2),
  /** Connections to this provider at most; further requests wait for one. */
  max_connections: z.int().positive().default(4096),
  /** Forces what is otherwise seen from the stream. */
  dialect: z.enum(DIALECT_NAMES).optional(),
});
export const remoteProvider = writtenProvider.transform(separateSources);
export const provider = z.union([builtinProvider, remoteProvider], {
  error: 'needs one of the two: base_url: <URL of the provider>, or builtin: demo',
});

/** What a million tokens cost, in `server.currency`. */
const price = z.strictObject({
  input: z.number().nonnegative(),
  /** Input that the provider had seen before; as `input` where absent. */
  cached_input: z.number().nonnegative().optional(),
  /** Input that the provider put into its cache, where it charges that apart; as `input` where absent. */
  cache_write: z.number().nonnegative().optional(),
  output: z.number().nonnegative(),
});
export const route = z.strictObject({
  provider: name,
  model: z.string().min(1),
  /** Tokens that this route's model reads at most; the model's `context_length` where absent. */
  context_length: z.int().positive().optional(),
  price: price.optional(),
  /** Lower is asked first; 1 where absent. */
  priority: z.int().min(0).max(100).optional(),
  /** Its share of what the routes of the best priority are asked first; 1 where another one has a weight. */
  weight: z.number().min(0).max(1_000_000).optional(),
});
export const routes = z.array(route).min(1, 'needs at least one route: { provider, model }');
