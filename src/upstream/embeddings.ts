import { isObject, parseJson } from '../base/json.ts';
import { wellFormedJson } from '../base/json-bytes.ts';
import { AttemptFailure, brokenStream } from './routing/attempt-failure.ts';
import type { Attempts } from './routing/attempts.ts';
import type { Route } from './routing/routes.ts';
import { unansweredTurnError } from './routing/turn-failure.ts';
import { noUsage, TurnError } from './turn.ts';

/** The longest answer that is read, in bytes: sixteen vectors of 4096 numbers take a megabyte and a half. */
const MAX_ANSWER = 2 * 1024 * 1024;

export interface EmbeddingsRequest {
  texts: readonly string[];
  /** The length of the vectors; the model's own where absent. */
  dimensions?: number | undefined;
}

/**
 * The vectors of several texts, in their order, from the first route that returns them.
 * @throws TurnError where no route does, or the signal's reason.
 */
export async function askForEmbeddings(
  { texts, dimensions }: EmbeddingsRequest,
  { attempts, signal }: { attempts: Attempts; signal: AbortSignal },
): Promise<Float32Array[]> {
  for await (const attempt of attempts.walk({ signal })) {
    try {
      const text = await attempt.span.in(() => ask(attempt.route, { texts, dimensions }, signal));
      const vectors = vectorsOf(text, texts.length);
      attempt.succeeded();
      return vectors;
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      attempt.failed(error, { delivered: false });
    }
  }
  throw unansweredTurnError('of the embeddings', attempts.failures, noUsage());
}

/** Whether `askForEmbeddings` threw for something that may be the fault of the texts, unlike a rate limit or silence. */
export function mayBeRefusal(thrown: unknown): boolean {
  return thrown instanceof TurnError && thrown.kind !== 'rate_limit' && thrown.kind !== 'timeout';
}

function ask(
  { provider, model, credential }: Route,
  { texts, dimensions }: EmbeddingsRequest,
  signal: AbortSignal,
): Promise<string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const body = wellFormedJson(
    JSON.stringify({ model, input: texts, ...(dimensions === undefined ? {} : { dimensions }) }),
  );
  const request = { method: 'POST', path: '/embeddings', api: 'embeddings', headers, body };
  return provider.target(credential).text(request, { limit: MAX_ANSWER, signal });
}

/** The vectors of an answer, all of one length: lists of numbers, or 32-bit floats in base64. @throws AttemptFailure */
function vectorsOf(text: string, wanted: number): Float32Array[] {
  const answer = parseJson(text);
  const data = isObject(answer) ? answer.data : undefined;
  if (!Array.isArray(data) || data.length !== wanted) throw invalid(`does not have exactly ${wanted} vectors`);
  const vectors: Float32Array[] = [];
  for (const [at, item] of data.entries()) {
    const vector = isObject(item) ? vectorOf(item.embedding) : undefined;
    const index = isObject(item) && typeof item.index === 'number' ? item.index : at;
    if (!vector || vector.length === 0 || index < 0 || index >= wanted || !Number.isInteger(index))
      throw invalid('has an item that is no vector');
    vectors[index] = vector;
  }
  const length = vectors[0]?.length;
  const areAlike = Object.keys(vectors).length === wanted && vectors.every((vector) => vector.length === length);
  if (!areAlike) throw invalid('has vectors of several lengths, or two for one text');
  return vectors;
}

function vectorOf(embedding: unknown): Float32Array | undefined {
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64');
    if (bytes.length % 4 !== 0) return undefined;
    return ifFinite(Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4)));
  }
  if (!Array.isArray(embedding) || !embedding.every((number) => typeof number === 'number')) return undefined;
  return ifFinite(Float32Array.from(embedding));
}

function ifFinite(vector: Float32Array): Float32Array | undefined {
  return vector.every(Number.isFinite) ? vector : undefined;
}

function invalid(what: string): AttemptFailure {
  return brokenStream(`its answer ${what}`);
}
