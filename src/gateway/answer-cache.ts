import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import type { Cache, Caches } from '../store/cache.ts';
import { AnswerCopy, type CachedAnswer, cachedAnswer } from './answers/answer-copy.ts';
import { endAnswer } from './client-writer.ts';
import type { ProxiedRequest } from './proxied-request.ts';

type CacheConfig = NonNullable<ProxyModelConfig['cache']>;

/** APIs whose calls change nothing at the provider, so that their answers can be cached. */
const APIS = new Set([
  'chat_completions',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'moderations',
  'rerank',
  'audio/speech',
  'images/generations',
]);

/** Request headers that a provider's answer may depend on. */
const HEADERS = ['accept', 'content-type', 'openai-beta', 'anthropic-version', 'anthropic-beta'];

/** One answer may take this part of a cache: a quarter. */
const MAX_SHARE = 1 / 4;

/** Memory for copies of answers in progress, in bytes. An answer for which there is none is not cached. */
const COPIED_BYTES = 64 * 1024 * 1024;

/** A call whose answer may be in the cache. */
export interface CacheableCall {
  request: ProxiedRequest;
  /** The parsed body; undefined for a form. */
  fields: Readonly<Record<string, unknown>> | undefined;
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig;
}

/** The place of one call's answer in the cache. */
export interface CacheEntry {
  /** The answer to an earlier call of the same kind, unless the client's `Cache-Control` forbids it. */
  find(): Promise<CachedAnswer | undefined>;
  /** Starts a copy of this call's answer; undefined when the client sent `no-store`. */
  copy(): AnswerCopy | undefined;
  /** Stores a copy if it is complete. Never throws. */
  store(copy: AnswerCopy): Promise<void>;
}

/** Caches answers of proxied calls, by user and body (docs/configuration.md, "Answers that are given again"). */
export class AnswerCache {
  readonly #caches: Caches;
  readonly #copies = new FairSemaphore({
    name: 'answer_copies',
    permits: COPIED_BYTES,
    perOwner: 'what is left',
    fullError: () => new Error('too many answers are being copied'),
  });
  /** One cache for each model; a reload that changes its configuration starts a new one. */
  readonly #byModel = new WeakMap<CacheConfig, Cache<CachedAnswer>>();

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  /** The entry of a call; undefined when its model has no cache or such calls cannot be cached. */
  entryOf(call: CacheableCall): CacheEntry | undefined {
    const config = call.model.cache;
    if (config === undefined || !isRepeatable(call)) return undefined;
    const cache = this.#cacheOf(config);
    const cacheKey = cacheKeyOf(call);
    const { noCache, noStore } = cacheControlOf(call.request.headers['cache-control']);
    return {
      find: async () => (noCache || noStore ? undefined : await cache.get(cacheKey)),
      copy: () => {
        if (noStore) return undefined;
        return new AnswerCopy({ limit: config.maxBytes * MAX_SHARE, memory: this.#copies.open(call.key.id) });
      },
      async store({ answer }) {
        if (answer) await cache.set(cacheKey, answer, config.ttlMs);
      },
    };
  }

  #cacheOf(config: CacheConfig): Cache<CachedAnswer> {
    const parse = (value: unknown) => cachedAnswer.safeParse(value).data;
    return this.#byModel.getOrInsertComputed(config, () =>
      this.#caches.open({ maxBytes: config.maxBytes, namespace: 'answers', parse }),
    );
  }
}

export function sendCachedAnswer(res: ServerResponse, { status, headers, body }: CachedAnswer): void {
  res.writeHead(status, headers);
  endAnswer(res, Buffer.from(body, 'base64'));
}

/** A background response has only started, and one in a conversation changes what the next one will say. */
function isRepeatable({ request: { method, api }, fields }: CacheableCall): boolean {
  if (method !== 'POST' || !APIS.has(api) || !fields) return false;
  return fields.background !== true && (fields.conversation ?? null) === null;
}

/** Distinguishes everything that an answer depends on: the user above all, and the routes, because a key may have its own. */
function cacheKeyOf({ request, modelName, model, key }: CacheableCall): string {
  const { path, api, headers, body } = request;
  const routes = (key.routes[modelName] ?? model.routes).map(({ provider, model: upstream }) => [provider, upstream]);
  const sentHeaders = HEADERS.map((name) => headers[name] ?? null);
  const parts = [key.user ?? key.id, modelName, routes, path, api, sentHeaders];
  return createHash('sha256')
    .update(`${JSON.stringify(parts)}\n`)
    .update(body)
    .digest('hex');
}

function cacheControlOf(header: string | undefined): { noCache: boolean; noStore: boolean } {
  const directives = (header ?? '').split(',').map((directive) => directive.trim().toLowerCase());
  const has = (directive: string) => directives.includes(directive);
  return { noCache: has('no-cache'), noStore: has('no-store') };
}
