import { GatewayError } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { CredentialCipher } from '../base/secrets/encrypt.ts';
import { seal, unseal } from '../base/secrets/seal.ts';
import { offsetAfter } from './frames.ts';
import type {
  AppendBatch,
  Claim,
  FencingToken,
  ListQuery,
  LogBatch,
  LogHandlers,
  LostRun,
  NewRun,
  RunRecord,
  RunStore,
  RunSummary,
} from './run-store.ts';

/** Begins what was sealed: each text as a JSON string, each frame as a line. Nothing else in a store begins with it. */
const MARK = 'sealed1:';
const TEXT_MARK = `"${MARK}`;
const FRAME_MARK = Buffer.from(MARK);
const FRAME_END = '\n\n';

interface Execution {
  token: FencingToken;
  cipher: CredentialCipher | undefined;
}

/** Finds the cipher of an API key; undefined if the key is gone. */
type CipherOf = (keyId: string) => CredentialCipher | undefined;

/**
 * A run store that holds what belongs to a response with `store: false` encrypted with its API key: request, metadata,
 * events and transcript (docs/api.md, "Responses that are not stored"). Such runs of earlier versions stay as they are.
 */
export class SealedRunStore implements RunStore {
  readonly #store: RunStore;
  readonly #cipherOf: CipherOf;
  /** The runs that this process executes; those without a cipher are not sealed. */
  readonly #executed = new Map<RunId, Execution>();
  readonly restore?: RunStore['restore'];

  constructor(store: RunStore, cipherOf: CipherOf) {
    this.#store = store;
    this.#cipherOf = cipherOf;
    if (store.restore) this.restore = (run) => this.#restoreLost(run);
  }

  async create(run: NewRun): ReturnType<RunStore['create']> {
    const cipher = run.api === 'unstored' ? this.#cipher(run.keyId) : undefined;
    const result = await this.#store.create(cipher ? await sealedRun(run, cipher) : run);
    if (typeof result === 'string') return result;
    if ('taken' in result) return { taken: { ...result.taken, run: await this.#openRecord(result.taken.run) } };
    this.#executed.set(run.id, { token: result.token, cipher });
    return result;
  }

  async findKey(...args: Parameters<RunStore['findKey']>): ReturnType<RunStore['findKey']> {
    const holder = await this.#store.findKey(...args);
    return holder && { ...holder, run: await this.#openRecord(holder.run) };
  }

  async get(id: RunId): Promise<RunRecord | undefined> {
    return await this.#openRecord(await this.#store.get(id));
  }

  async list(query: ListQuery): ReturnType<RunStore['list']> {
    const { runs, hasMore } = await this.#store.list(query);
    return { runs: await Promise.all(runs.map((run) => this.#openSummary(run))), hasMore };
  }

  async claimNext(options: Parameters<RunStore['claimNext']>[0]): Promise<Claim | undefined> {
    return await this.#openClaim(await this.#store.claimNext(options));
  }

  async claim(...args: Parameters<RunStore['claim']>): Promise<Claim | undefined> {
    return await this.#openClaim(await this.#store.claim(...args));
  }

  async release(...args: Parameters<RunStore['release']>): Promise<void> {
    const [id, { token }] = args;
    await this.#store.release(...args);
    this.#leave(id, token);
  }

  async append(id: RunId, batch: AppendBatch): ReturnType<RunStore['append']> {
    const execution = this.#executed.get(id);
    const cipher = execution ? execution.cipher : await this.#cipherOfRun(id);
    const result = await this.#store.append(id, cipher ? await sealedBatch(batch, cipher) : batch);
    const isWritten = result.result === 'ok' || result.result === 'duplicate';
    if (isWritten ? batch.end : /^(?:fenced|closed|missing)$/.test(result.result)) this.#leave(id, batch.token);
    return result;
  }

  async read(...args: Parameters<RunStore['read']>): Promise<LogBatch[]> {
    const batches = await this.#store.read(...args);
    return batches.some(isSealed) ? await this.#openBatches(args[0], batches) : batches;
  }

  async readLast(id: RunId): Promise<LogBatch | undefined> {
    const last = await this.#store.readLast(id);
    return last && isSealed(last) ? (await this.#openBatches(id, [last]))[0] : last;
  }

  async readTranscript(id: RunId): Promise<string[]> {
    const entries = await this.#store.readTranscript(id);
    const cipher = entries.some(isSealedText) ? await this.#cipherOfRun(id) : undefined;
    return cipher ? await inOrder(entries, (entry) => openText(entry, cipher)) : entries;
  }

  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    let isOver = false;
    let before = Promise.resolve();
    let cipher: CredentialCipher | undefined;
    const open = async (batch: LogBatch) => {
      cipher ??= await this.#cipherOfRun(id);
      const result = cipher && (await openBatch(batch, cipher));
      if (result && !isOver) handlers.onBatch(result);
    };
    const onBatch = (batch: LogBatch) => {
      if (!isSealed(batch)) return handlers.onBatch(batch);
      const frames = opened.get(batch.frames);
      if (frames) return handlers.onBatch({ ...batch, frames });
      // Whoever reads the batch instead learns why it cannot be opened.
      before = before.then(() => open(batch)).catch(() => handlers.onGap());
    };
    const subscription = await this.#store.subscribe(id, { onBatch, onGap: () => handlers.onGap() });
    return {
      [Symbol.dispose]() {
        isOver = true;
        subscription[Symbol.dispose]();
      },
    };
  }

  countOpen(): ReturnType<RunStore['countOpen']> {
    return this.#store.countOpen();
  }

  countQueued(keyId: string): Promise<number> {
    return this.#store.countQueued(keyId);
  }

  findClaimable(...args: Parameters<RunStore['findClaimable']>): Promise<RunId[]> {
    return this.#store.findClaimable(...args);
  }

  async renew(...args: Parameters<RunStore['renew']>): ReturnType<RunStore['renew']> {
    const [id, { token }] = args;
    const renewed = await this.#store.renew(...args);
    if (renewed.result === 'fenced') this.#leave(id, token);
    return renewed;
  }

  requestCancel(id: RunId): ReturnType<RunStore['requestCancel']> {
    return this.#store.requestCancel(id);
  }

  onChange(...args: Parameters<RunStore['onChange']>): Disposable {
    return this.#store.onChange(...args);
  }

  delete(id: RunId): Promise<boolean> {
    return this.#store.delete(id);
  }

  removeExpired(...args: Parameters<RunStore['removeExpired']>): Promise<number> {
    return this.#store.removeExpired(...args);
  }

  compressEnded(...args: Parameters<RunStore['compressEnded']>): Promise<number> {
    return this.#store.compressEnded(...args);
  }

  check(): ReturnType<RunStore['check']> {
    return this.#store.check();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #cipher(keyId: string): CredentialCipher {
    const cipher = this.#cipherOf(keyId);
    if (!cipher) throw new GatewayError('internal_error', `The API key ${keyId}, which encrypted the run, is gone.`);
    return cipher;
  }

  /** The cipher of a sealed run; undefined for any other. @throws GatewayError `internal_error` if its key is gone. */
  async #cipherOfRun(id: RunId): Promise<CredentialCipher | undefined> {
    const executed = this.#executed.get(id)?.cipher;
    if (executed) return executed;
    const run = await this.#store.get(id);
    return run && isSealedText(run.request) ? this.#cipher(run.keyId) : undefined;
  }

  #leave(id: RunId, token: FencingToken): void {
    if (this.#executed.get(id)?.token === token) this.#executed.delete(id);
  }

  /** A record that cannot be opened stays sealed: whoever reads its request fails this run, and no other. */
  async #openRecord<R extends RunRecord | undefined>(run: R): Promise<R> {
    if (!run || !isSealedText(run.request)) return run;
    return { ...(await this.#openSummary(run)), request: await this.#openIfPossible(run.request, run.keyId) };
  }

  async #openSummary<S extends RunSummary>(run: S): Promise<S> {
    return isSealedText(run.metadata) ? { ...run, metadata: await this.#openIfPossible(run.metadata, run.keyId) } : run;
  }

  async #openIfPossible(text: string, keyId: string): Promise<string> {
    try {
      return await openText(text, this.#cipher(keyId));
    } catch {
      return text;
    }
  }

  async #openClaim(claim: Claim | undefined): Promise<Claim | undefined> {
    if (!claim) return undefined;
    const { run, token } = claim;
    const cipher = isSealedText(run.request) ? this.#cipherOf(run.keyId) : undefined;
    this.#executed.set(run.id, { token, cipher });
    return { ...claim, run: await this.#openRecord(run) };
  }

  async #openBatches(id: RunId, batches: readonly LogBatch[]): Promise<LogBatch[]> {
    const cipher = await this.#cipherOfRun(id);
    // The run was removed meanwhile.
    return cipher ? await inOrder(batches, (batch) => openBatch(batch, cipher)) : [];
  }

  async #restoreLost(run: LostRun): Promise<'restored' | 'exists'> {
    const cipher = run.api === 'unstored' ? this.#cipher(run.keyId) : undefined;
    const result = await this.#store.restore?.(cipher ? await sealedLostRun(run, cipher) : run);
    if (result === 'restored') this.#executed.set(run.id, { token: run.token, cipher });
    return result ?? 'exists';
  }
}

async function sealedRun<R extends NewRun>(run: R, cipher: CredentialCipher): Promise<R> {
  return {
    ...run,
    request: await sealText(run.request, cipher),
    metadata: await sealText(run.metadata, cipher),
    frames: await sealFrames(run.frames, run.frameCount, cipher),
  };
}

async function sealedLostRun(run: LostRun, cipher: CredentialCipher): Promise<LostRun> {
  const transcript = await inOrder(run.transcript, (entry) => sealText(entry, cipher));
  return { ...(await sealedRun(run, cipher)), transcript };
}

/** What was sealed, by the sealed bytes: a store in this process passes on to readers what it was given. */
const opened = new WeakMap<Uint8Array, Uint8Array>();

async function sealedBatch(batch: AppendBatch, cipher: CredentialCipher): Promise<AppendBatch> {
  const { frames, count, transcript } = batch;
  const sealed = { ...batch, frames: await sealFrames(frames, count, cipher) };
  opened.set(sealed.frames, frames);
  if (!transcript) return sealed;
  return { ...sealed, transcript: await inOrder(transcript, (entry) => sealText(entry, cipher)) };
}

function isSealedText(text: string): boolean {
  return text.startsWith(TEXT_MARK);
}

function isSealed({ frames }: LogBatch): boolean {
  return FRAME_MARK.equals(frames.subarray(0, FRAME_MARK.length));
}

async function sealText(text: string, cipher: CredentialCipher): Promise<string> {
  return `${TEXT_MARK}${await seal(Buffer.from(text), cipher)}"`;
}

async function openText(text: string, cipher: CredentialCipher): Promise<string> {
  return isSealedText(text) ? (await openBytes(text.slice(TEXT_MARK.length, -1), cipher)).toString() : text;
}

/**
 * One text for all frames of a batch, in the line of the last one: stores cut a batch between frames, which end with a
 * blank line, and only at its beginning.
 */
async function sealFrames(frames: Uint8Array, count: number, cipher: CredentialCipher): Promise<Uint8Array> {
  if (count === 0) return frames;
  const sealed = await seal(frames, cipher);
  return Buffer.from(`${MARK}${FRAME_END}`.repeat(count - 1) + MARK + sealed + FRAME_END, 'latin1');
}

/** Batches may have been joined, and the first one cut. */
async function openBatch(batch: LogBatch, cipher: CredentialCipher): Promise<LogBatch> {
  const { first, last, frames: sealed } = batch;
  const lines = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).toString('latin1').split(FRAME_END);
  const texts = lines.filter((line) => line.length > MARK.length).map((line) => line.slice(MARK.length));
  const frames = Buffer.concat(await inOrder(texts, (text) => openBytes(text, cipher)));
  return { ...batch, frames: frames.subarray(offsetAfter(frames, countFrames(frames) - (last - first + 1))) };
}

function countFrames(frames: Buffer): number {
  let count = 0;
  for (let end = frames.indexOf(FRAME_END); end !== -1; end = frames.indexOf(FRAME_END, end + FRAME_END.length))
    count++;
  return count;
}

/** @throws GatewayError `internal_error` if the API key has another secret now, or what is sealed was changed. */
async function openBytes(sealed: string, cipher: CredentialCipher): Promise<Buffer> {
  try {
    return await unseal(sealed, cipher);
  } catch (cause) {
    const why = 'its API key has another secret now, or it was changed.';
    throw new GatewayError('internal_error', `A response with \`store: false\` cannot be decrypted: ${why}`, { cause });
  }
}

async function inOrder<T, R>(values: readonly T[], map: (value: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const value of values) results.push(await map(value));
  return results;
}
