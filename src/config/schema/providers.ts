import { z } from 'zod';
import { DIALECT_NAMES } from '../dialect-names.ts';
import { seconds } from '../units.ts';
import { separateSources, textOrSource } from './refreshed.ts';
import { credential, headerName, headerValue, httpUrl, name } from './values.ts';

/** `providers`, and the routes to them. */

const timeouts = z.strictObject({
  connect: seconds.prefault(5),
  /** Until the response headers. */
  first_byte: seconds.prefault(120),
  /** From the headers to the first token. Default: `first_byte`. */
  first_token: seconds.optional(),
  /** Between two chunks. */
  idle: seconds.prefault(60),
  /** While the provider signals that its model is thinking without streaming it. Default: three times `first_token`. */
  thinking: seconds.optional(),
  /**
   * Until the first token, while another route could be tried and the usual latency of this one is not known yet. Three
   * times as long for answers that are not streamed.
   */
  patience: seconds.prefault(30),
  /** A whole call, from the request to the end of the answer. Default: no limit. */
  total: seconds.optional(),
});

const builtinProvider = z.strictObject({
  builtin: z.literal('demo'),
  /** The pause between streamed words in milliseconds, so that progress is visible. */
  pace_ms: z.int().nonnegative().max(1000).default(0),
});
const baseUrl = httpUrl.refine(
  (url) => !/\/(?:completions|responses|messages|embeddings)\/*$/.test(URL.parse(url)?.pathname ?? ''),
  'must end before the name of an API: leave out /chat/completions, /responses, /messages or /embeddings',
);
const remoteProviderSettings = z.strictObject({
  base_url: baseUrl,
  /** The API that research uses: OpenAI's Chat Completions or Responses, or Anthropic's Messages. */
  wire: z.enum(['chat', 'responses', 'messages']).default('chat'),
  api_key: textOrSource(credential).optional(),
  /** The header for the credential: `api_key`, or a key's own. Default: that of the wire. */
  api_key_header: headerName.optional(),
  headers: z.record(headerName, textOrSource(headerValue)).default({}),
  timeouts: timeouts.prefault({}),
  max_retries: z.int().nonnegative().max(10).default(2),
  /** The maximum number of connections; further requests wait for one. */
  max_connections: z.int().positive().default(4096),
  /** Sets in advance what is otherwise detected from the provider's answers. */
  dialect: z.enum(DIALECT_NAMES).optional(),
});
export const remoteProvider = remoteProviderSettings.transform(separateSources);
export const provider = z.union([builtinProvider, remoteProvider], {
  error: 'needs one of the two: base_url: <URL of the provider>, or builtin: demo',
});

/** Price of a million tokens, in `server.currency`. */
const price = z.strictObject({
  input: z.number().nonnegative(),
  /** Input that the provider reads from its cache. Default: `input`. */
  cached_input: z.number().nonnegative().optional(),
  /** Input that the provider writes to its cache, if it charges for that. Default: `input`. */
  cache_write: z.number().nonnegative().optional(),
  output: z.number().nonnegative(),
});
export const route = z.strictObject({
  provider: name,
  model: z.string().min(1),
  /** The context window of this route's model, in tokens. Default: the model's `context_length`. */
  context_length: z.int().positive().optional(),
  price: price.optional(),
  /** Routes with a lower number are tried first. Default: 1. */
  priority: z.int().min(0).max(100).optional(),
  /** The share of calls for which this route is tried first, among those of one priority. Default: 1 if another has a weight. */
  weight: z.number().min(0).max(1_000_000).optional(),
});
export const routes = z.array(route).min(1, 'needs at least one route: { provider, model }');
