import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai/uploads';
import { messageOf } from '../../base/errors.ts';
import { EXIT } from '../exit-codes.ts';
import { refusalOf } from '../gateway-client.ts';
import { Unusable } from '../unusable.ts';

/** How long an upload may take, in milliseconds. */
const UPLOAD_MS = 600_000;
/** How long the deletion of files that nothing refers to may take, in milliseconds. */
const DISCARD_MS = 5000;

/** The files of a question. Those of a question that is not asked do not stay at the gateway. */
export class AttachedFiles {
  readonly #client: OpenAI;
  readonly #paths: readonly string[];
  readonly #uploaded: string[] = [];

  constructor(client: OpenAI, paths: readonly string[]) {
    this.#client = client;
    this.#paths = paths;
  }

  /** Submits the question with its files, in order. @throws Unusable for a file that cannot be read. */
  async with<T>(
    question: string,
    signal: AbortSignal,
    submit: (input: string | OpenAI.Responses.ResponseInput) => Promise<T>,
  ): Promise<T> {
    if (this.#paths.length === 0) return await submit(question);
    let input: OpenAI.Responses.ResponseInput;
    try {
      input = await this.#upload(question, signal);
    } catch (error) {
      await this.#discard();
      throw error;
    }
    try {
      return await submit(input);
    } catch (error) {
      // Without a refusal there may be a run that needs them.
      if ((refusalOf(error)?.status ?? 500) < 500) await this.#discard();
      throw error;
    }
  }

  async #upload(question: string, signal: AbortSignal): Promise<OpenAI.Responses.ResponseInput> {
    const sizes: number[] = [];
    for (const path of this.#paths) sizes.push(await sizeOf(path));
    const content: OpenAI.Responses.ResponseInputContent[] = [{ type: 'input_text', text: question }];
    for (const [at, path] of this.#paths.entries()) {
      const file = await read(path, sizes[at] ?? 0);
      const options = { signal, timeout: UPLOAD_MS, maxRetries: 0 };
      const { id } = await this.#client.files.create({ file, purpose: 'user_data' }, options);
      this.#uploaded.push(id);
      content.push({ type: 'input_file', file_id: id });
    }
    return [{ role: 'user', content }];
  }

  async #discard(): Promise<void> {
    const options = { timeout: DISCARD_MS, maxRetries: 0 };
    await Promise.allSettled(this.#uploaded.map((id) => this.#client.files.delete(id, options)));
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new Unusable(EXIT.usage, `--file ${path}: there is no such file`);
  if (!found.isFile()) throw new Unusable(EXIT.usage, `--file ${path}: this is not a regular file`);
  await access(path, constants.R_OK).catch(() => {
    throw new Unusable(EXIT.usage, `--file ${path}: this user may not read it`);
  });
  return found.size;
}

/** A file, no further than it went at first: it may be growing. Some files of the system have no size. */
async function read(path: string, size: number): Promise<File> {
  try {
    return await toFile(createReadStream(path, size > 0 ? { end: size - 1 } : {}), basename(path));
  } catch (error) {
    throw new Unusable(EXIT.usage, `--file ${path}: ${messageOf(error)}`);
  }
}
