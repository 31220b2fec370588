import { isObject, parseJson } from '../base/json.ts';
import { currentTrace } from '../base/trace-context.ts';
import type { ProviderTarget, Receiver } from './provider-target.ts';
import { AttemptFailure, brokenStream } from './routing/attempt-failure.ts';
import type { Attempts } from './routing/attempts.ts';
import { failedTurn } from './routing/turn-failure.ts';
import type { AnswerHead } from './transport/held-call.ts';
import { noUsage } from './turn.ts';

/** The longest answer that is read, in bytes: sixteen vectors of 4096 numbers are a megabyte and a half. */
const MAX_ANSWER = 2 * 1024 * 1024;

export interface EmbeddingsRequest {
  texts: readonly string[];
  /** How long the vectors shall be; the model's own length where absent. */
  dimensions?: number | undefined;
}

/**
 * The vectors of several texts, in their order, by the first route that gives them.
 * @throws TurnError where no route does, or the signal's reason.
 */
export async function askForEmbeddings(
  { texts, dimensions }: EmbeddingsRequest,
  { attempts, signal }: { attempts: Attempts; signal: AbortSignal },
): Promise<Float32Array[]> {
  for await (const attempt of attempts.walk({ signal })) {
    const { provider, model, credential } = attempt.route;
    const body = JSON.stringify({ model, input: texts, ...(dimensions === undefined ? {} : { dimensions }) });
    const answer = await ask(provider.target(credential), body, signal);
    const vectors = answer instanceof AttemptFailure ? answer : vectorsOf(answer, texts.length);
    if (!(vectors instanceof AttemptFailure)) {
      attempt.succeeded();
      return vectors;
    }
    attempt.failed(vectors, { delivered: false });
  }
  throw failedTurn('of the embeddings', attempts.failures, noUsage());
}

function ask(target: ProviderTarget, body: string, signal: AbortSignal): Promise<string | AttemptFailure> {
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...currentTrace() };
  return target.call<string | AttemptFailure>(
    { method: 'POST', path: '/embeddings', api: 'embeddings', headers, body },
    {
      receiver: (head, { finish }) => new WholeText(head, target, finish),
      unanswered: (failure) => failure,
      streamed: false,
      signal,
    },
  );
}

/** Collects an answer, or what a refusal says. */
class WholeText implements Receiver<string | AttemptFailure> {
  readonly #head: AnswerHead;
  readonly #target: ProviderTarget;
  readonly #finish: (result: AttemptFailure) => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(head: AnswerHead, target: ProviderTarget, finish: (result: AttemptFailure) => void) {
    this.#head = head;
    this.#target = target;
    this.#finish = finish;
  }

  data(chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MAX_ANSWER) this.#finish(senseless(`is longer than ${MAX_ANSWER} bytes`));
    else this.#chunks.push(chunk);
  }

  end(): string | AttemptFailure {
    const body = Buffer.concat(this.#chunks);
    return this.#head.status < 300 ? body.toString('utf8') : this.#target.failureOfAnswer({ ...this.#head, body });
  }

  broken(failure: AttemptFailure): AttemptFailure {
    return failure;
  }
}

/** The vectors of an answer: of numbers, or of 32-bit floats in base64, all of one length. */
function vectorsOf(text: string, wanted: number): Float32Array[] | AttemptFailure {
  const answer = parseJson(text);
  const data = isObject(answer) ? answer.data : undefined;
  if (!Array.isArray(data) || data.length !== wanted)
    return senseless(`has not one vector for each of ${wanted} texts`);
  const vectors: Float32Array[] = [];
  for (const [at, item] of data.entries()) {
    const vector = isObject(item) ? vectorOf(item.embedding) : undefined;
    const index = isObject(item) && typeof item.index === 'number' ? item.index : at;
    if (!vector || vector.length === 0 || index < 0 || index >= wanted || !Number.isInteger(index))
      return senseless('has an item that is no vector');
    vectors[index] = vector;
  }
  const length = vectors[0]?.length;
  const areAlike = Object.keys(vectors).length === wanted && vectors.every((vector) => vector.length === length);
  return areAlike ? vectors : senseless('has vectors of several lengths, or two for one text');
}

function vectorOf(embedding: unknown): Float32Array | undefined {
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64');
    if (bytes.length % 4 !== 0) return undefined;
    return checked(Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4)));
  }
  if (!Array.isArray(embedding) || !embedding.every((number) => typeof number === 'number')) return undefined;
  return checked(Float32Array.from(embedding));
}

function checked(vector: Float32Array): Float32Array | undefined {
  return vector.every(Number.isFinite) ? vector : undefined;
}

function senseless(what: string): AttemptFailure {
  return brokenStream(`its answer ${what}`);
}
