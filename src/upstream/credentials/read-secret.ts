import { spawn } from 'node:child_process';
import { open, stat } from 'node:fs/promises';
import { withTimeout } from '../../base/abort.ts';
import type { SecretSource } from '../../config/schema/refreshed.ts';

/** The longest secret, in characters: as much as headers of providers can hold. */
const MAX_SECRET = 16 * 1024;
/** How long reading a file may take, in milliseconds: it may be on a network. */
const FILE_MS = 10_000;

/**
 * The current secret of a source, without white space around it.
 * @throws Error that says why there is none, without anything that the source printed; the signal's reason.
 */
export async function readSecret(source: SecretSource, signal: AbortSignal): Promise<string> {
  const text =
    source.kind === 'command'
      ? await withTimeout('the command', source.timeoutMs, (limited) => outputOf(source.command, limited), { signal })
      : await withTimeout('the file', FILE_MS, () => textOf(source.file), { signal });
  const secret = text.trim();
  if (secret === '') throw new Error(`the ${source.kind} gave nothing`);
  if (secret.length > MAX_SECRET) throw new Error(`the ${source.kind} gave more than ${MAX_SECRET} characters`);
  if (!/^[\x20-\x7e]+$/.test(secret)) throw new Error(`the ${source.kind} gave something else than one line of ASCII`);
  return secret;
}

/** The text of a file, or enough of it to show that it is too long. */
async function textOf(file: string): Promise<string> {
  try {
    // A pipe or a device may never end, and reading it would block a thread of the process.
    if (!(await stat(file)).isFile()) throw Object.assign(new Error('no file'), { code: 'it is no plain file' });
    await using opened = await open(file);
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(2 * MAX_SECRET));
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    throw new Error(`the file cannot be read (${codeOf(error)})`, { cause: error });
  }
}

/** The output of a program. The signal kills its whole process group: a child could keep the output open. */
function outputOf([program = '', ...args]: readonly string[], signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  let output = '';
  const kill = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };
  const stop = () => {
    kill();
    child.stdout.destroy();
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.length <= 2 * MAX_SECRET) return;
    resolve(output);
    kill();
  });
  child.once('error', (error) => reject(new Error(`the command cannot be started (${codeOf(error)})`)));
  child.once('close', (code, killedBy) => {
    if (code === 0) resolve(output);
    else reject(new Error(`the command ended with ${code ?? killedBy}`));
  });
  return promise.finally(() => signal.removeEventListener('abort', stop));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
