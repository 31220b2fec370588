import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import type { Cache, Caches } from '../store/cache.ts';
import { AnswerCopy, type KeptAnswer, keptAnswer } from './answers/answer-copy.ts';
import { endAnswer } from './client-writer.ts';
import type { PassedRequest } from './replace-spans.ts';

type CacheConfig = NonNullable<ProxyModelConfig['cache']>;

/** APIs whose calls change nothing at the provider, so that the answer of one may stand for the next. */
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

/** Headers that providers see and may answer by. */
const HEADERS = ['accept', 'content-type', 'openai-beta', 'anthropic-version', 'anthropic-beta'];

/** The part of a cache that one answer may take. */
const SHARE = 4;

/** What copies of answers under way may take together, in bytes. What finds no room is not kept. */
const COPIED_BYTES = 64 * 1024 * 1024;

/** A call that asks for an answer. */
export interface AskedCall {
  request: PassedRequest;
  /** The body as it was read; absent where it is a form. */
  fields: Readonly<Record<string, unknown>> | undefined;
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig;
}

/** Where the answer of one call is kept. */
export interface AnswerPlace {
  /** What was answered to the same call before, where the client takes that. */
  find(): Promise<KeptAnswer | undefined>;
  /** Takes down the answer of this call, to be kept; undefined where the client wants it kept by nobody. */
  copy(): AnswerCopy | undefined;
  /** Keeps a copy that is complete. Never throws. */
  keep(copy: AnswerCopy): Promise<void>;
}

/**
 * Answers of proxied calls that are given again to the same user for the same body (docs/configuration.md, "Answers that
 * are given again").
 */
export class KeptAnswers {
  readonly #caches: Caches;
  readonly #copies = new FairSemaphore({
    name: 'answer_copies',
    permits: COPIED_BYTES,
    ofOwner: 'what is left',
    full: () => new Error('too many answers are being copied'),
  });
  /** Of each model, as long as its configuration holds. */
  readonly #byModel = new WeakMap<CacheConfig, Cache<KeptAnswer>>();

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  /** The place of a call; undefined where its model keeps no answers, or those of such calls cannot be given again. */
  placeOf(call: AskedCall): AnswerPlace | undefined {
    const config = call.model.cache;
    if (config === undefined || !isRepeatable(call)) return undefined;
    const cache = this.#cacheOf(config);
    const name = nameOf(call);
    const { noCache, noStore } = wishesOf(call.request.headers['cache-control']);
    return {
      find: async () => (noCache || noStore ? undefined : await cache.get(name)),
      copy: () => {
        if (noStore) return undefined;
        return new AnswerCopy({ limit: config.maxBytes / SHARE, memory: this.#copies.open(call.key.id) });
      },
      async keep({ answer }) {
        if (answer) await cache.set(name, answer, { ttlMs: config.ttlMs });
      },
    };
  }

  #cacheOf(config: CacheConfig): Cache<KeptAnswer> {
    const parse = (value: unknown) => keptAnswer.safeParse(value).data;
    return this.#byModel.getOrInsertComputed(config, () =>
      this.#caches.open({ ...config, namespace: 'answers', parse }),
    );
  }
}

/** Gives a kept answer to a client. */
export function giveAgain(res: ServerResponse, { status, headers, body }: KeptAnswer): void {
  res.writeHead(status, headers);
  endAnswer(res, Buffer.from(body, 'base64'));
}

/** A response in the background has only begun; one in a conversation adds to it, so that the next one differs. */
function isRepeatable({ request: { method, api }, fields }: AskedCall): boolean {
  if (method !== 'POST' || !APIS.has(api) || !fields) return false;
  return fields.background !== true && (fields.conversation ?? null) === null;
}

/** Tells apart what may have other answers: users above all. Routes too: a key may have its own. */
function nameOf({ request, modelName, model, key }: AskedCall): string {
  const { path, api, headers, body } = request;
  const routes = (key.routes[modelName] ?? model.routes).map(({ provider, model: upstream }) => [provider, upstream]);
  const seen = HEADERS.map((name) => headers[name] ?? null);
  const parts = [key.user ?? key.id, modelName, routes, path, api, seen];
  return createHash('sha256')
    .update(`${JSON.stringify(parts)}\n`)
    .update(body)
    .digest('hex');
}

function wishesOf(header: string | undefined): { noCache: boolean; noStore: boolean } {
  const wishes = (header ?? '').toLowerCase().split(',');
  const has = (wish: string) => wishes.some((one) => one.trim() === wish);
  return { noCache: has('no-cache'), noStore: has('no-store') };
}
