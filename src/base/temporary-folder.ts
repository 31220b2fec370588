import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder for data that ends with the process, which only this user may open. @throws Error with the fix. */
export function makeTemporaryFolder(what: string): string {
  try {
    return mkdtempSync(join(tmpdir(), `research-gateway-${what}-`));
  } catch (cause) {
    const message = `cannot make a folder in ${tmpdir()}: set TMPDIR to a folder that this user may write to`;
    throw new Error(message, { cause });
  }
}
