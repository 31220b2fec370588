import { GatewayError } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { CredentialCipher } from '../base/secrets/encrypt.ts';
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
    const { restore } = store;
    if (restore) this.restore = async (run) => await restore.call(store, this.#sealLost(run));
  }

  async create(run: NewRun): ReturnType<RunStore['create']> {
    const cipher = run.api === 'unstored' ? this.#cipher(run.keyId) : undefined;
    const result = await this.#store.create(cipher ? sealedRun(run, cipher) : run);
    if (typeof result === 'string') return result;
    if ('taken' in result) return { taken: { ...result.taken, run: this.#openRecord(result.taken.run) } };
    this.#executed.set(run.id, { token: result.token, cipher });
    return result;
  }

  async findKey(...args: Parameters<RunStore['findKey']>): ReturnType<RunStore['findKey']> {
    const holder = await this.#store.findKey(...args);
    return holder && { ...holder, run: this.#openRecord(holder.run) };
  }

  async get(id: RunId): Promise<RunRecord | undefined> {
    return this.#openRecord(await this.#store.get(id));
  }

  async list(query: ListQuery): ReturnType<RunStore['list']> {
    const { runs, hasMore } = await this.#store.list(query);
    return { runs: runs.map((run) => this.#openSummary(run)), hasMore };
  }

  async claimNext(options: Parameters<RunStore['claimNext']>[0]): Promise<Claim | undefined> {
    return this.#openClaim(await this.#store.claimNext(options));
  }

  async claim(...args: Parameters<RunStore['claim']>): Promise<Claim | undefined> {
    return this.#openClaim(await this.#store.claim(...args));
  }

  async release(...args: Parameters<RunStore['release']>): Promise<void> {
    const [id, { token }] = args;
    await this.#store.release(...args);
    this.#leave(id, token);
  }

  async append(id: RunId, batch: AppendBatch): ReturnType<RunStore['append']> {
    const execution = this.#executed.get(id);
    const cipher = execution ? execution.cipher : await this.#cipherOfRun(id);
    const result = await this.#store.append(id, cipher ? sealedBatch(batch, cipher) : batch);
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
    return cipher ? entries.map((entry) => openText(entry, cipher)) : entries;
  }

  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    let cipher = this.#executed.get(id)?.cipher;
    const onBatch = (batch: LogBatch) => {
      if (!isSealed(batch)) return handlers.onBatch(batch);
      if (cipher) return handlers.onBatch(openBatch(batch, cipher));
      handlers.onGap();
      this.#cipherOfRun(id).then(
        (found) => {
          cipher = found;
        },
        () => {},
      );
    };
    return await this.#store.subscribe(id, { onBatch, onGap: () => handlers.onGap() });
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
  #openRecord(run: RunRecord): RunRecord;
  #openRecord(run: RunRecord | undefined): RunRecord | undefined;
  #openRecord(run: RunRecord | undefined): RunRecord | undefined {
    if (!run || !isSealedText(run.request)) return run;
    return { ...this.#openSummary(run), request: this.#openIfPossible(run.request, run.keyId) };
  }

  #openSummary(run: RunSummary): RunSummary {
    return isSealedText(run.metadata) ? { ...run, metadata: this.#openIfPossible(run.metadata, run.keyId) } : run;
  }

  #openIfPossible(text: string, keyId: string): string {
    try {
      return openText(text, this.#cipher(keyId));
    } catch {
      return text;
    }
  }

  #openClaim(claim: Claim | undefined): Claim | undefined {
    if (!claim) return undefined;
    const { run, token } = claim;
    const cipher = isSealedText(run.request) ? this.#cipherOf(run.keyId) : undefined;
    this.#executed.set(run.id, { token, cipher });
    return { ...claim, run: this.#openRecord(run) };
  }

  async #openBatches(id: RunId, batches: readonly LogBatch[]): Promise<LogBatch[]> {
    const cipher = await this.#cipherOfRun(id);
    // The run was removed meanwhile.
    return cipher ? batches.map((batch) => openBatch(batch, cipher)) : [];
  }

  #sealLost(run: LostRun): LostRun {
    const cipher = this.#executed.get(run.id)?.cipher;
    if (!cipher) return run;
    return { ...sealedRun(run, cipher), transcript: run.transcript.map((entry) => sealText(entry, cipher)) };
  }
}

function sealedRun<R extends NewRun>(run: R, cipher: CredentialCipher): R {
  const { request, metadata, frames, frameCount } = run;
  return {
    ...run,
    request: sealText(request, cipher),
    metadata: sealText(metadata, cipher),
    frames: sealFrames(frames, frameCount, cipher),
  };
}

/** What was sealed, by the sealed bytes: a store in this process passes on to readers what it was given. */
const opened = new WeakMap<Uint8Array, Uint8Array>();

function sealedBatch(batch: AppendBatch, cipher: CredentialCipher): AppendBatch {
  const { frames, count, transcript } = batch;
  const sealed = { ...batch, frames: sealFrames(frames, count, cipher) };
  opened.set(sealed.frames, frames);
  return transcript ? { ...sealed, transcript: transcript.map((entry) => sealText(entry, cipher)) } : sealed;
}

function isSealedText(text: string): boolean {
  return text.startsWith(TEXT_MARK);
}

function isSealed({ frames }: LogBatch): boolean {
  return FRAME_MARK.equals(frames.subarray(0, FRAME_MARK.length));
}

function sealText(text: string, cipher: CredentialCipher): string {
  return `${TEXT_MARK}${cipher.encrypt(text)}"`;
}

function openText(text: string, cipher: CredentialCipher): string {
  return isSealedText(text) ? decrypted(text.slice(TEXT_MARK.length, -1), cipher) : text;
}

/** @throws GatewayError `internal_error` if the API key has another secret now, or the text was changed. */
function decrypted(sealed: string, cipher: CredentialCipher): string {
  try {
    return cipher.decrypt(sealed);
  } catch (cause) {
    const message =
      'A response with `store: false` cannot be decrypted: its API key has another secret, or it was changed.';
    throw new GatewayError('internal_error', message, { cause });
  }
}

/**
 * One text for all frames of a batch, in the line of the last one: stores cut a batch between frames, which end with a
 * blank line, and only at its beginning.
 */
function sealFrames(frames: Uint8Array, count: number, cipher: CredentialCipher): Uint8Array {
  if (count === 0) return frames;
  return Buffer.from(`${MARK}${FRAME_END}`.repeat(count - 1) + MARK + cipher.encrypt(textOf(frames)) + FRAME_END);
}

/** Batches may have been joined, and the first one cut. */
function openBatch(batch: LogBatch, cipher: CredentialCipher): LogBatch {
  const known = opened.get(batch.frames);
  if (known) return { ...batch, frames: known };
  const sealed = textOf(batch.frames).split(FRAME_END);
  const lines = sealed.filter((line) => line.length > MARK.length);
  const frames = lines.map((line) => decrypted(line.slice(MARK.length), cipher)).join('');
  // Its last piece is empty: each frame ends with a blank line.
  const kept = frames.split(FRAME_END).slice(-sealed.length);
  return { ...batch, frames: Buffer.from(kept.join(FRAME_END)) };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
