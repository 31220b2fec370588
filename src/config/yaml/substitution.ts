import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** `$${` (a literal `${`), `${NAME}`, `${NAME:-default}`, `${file:path}`, or a malformed `${`. */
const REFERENCE = /\$\$\{|\$\{file:([^{}\n]+)\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;
/** The largest file of a secret, in bytes; a larger one must be the wrong file. */
const MAX_FILE_BYTES = 64 * 1024;

/** Text with its references replaced, and the problems of those that could not be replaced. */
export interface Substitution {
  text: string;
  problems: string[];
}

/**
 * Replaces `${NAME}`, `${NAME:-default}` (for a variable that is unset or empty, as in a shell) and `${file:path}` (the
 * content of a file without its final line break). Their values are not searched for further references.
 */
export function substitute(text: string, variables: Readonly<Record<string, string | undefined>>): Substitution {
  const problems: string[] = [];
  const replaced = text.replace(REFERENCE, (match: string, file?: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (file !== undefined) {
      const secret = readSecret(file.trim());
      if ('problem' in secret) problems.push(secret.problem);
      return 'text' in secret ? secret.text : match;
    }
    if (name === undefined) {
      problems.push(`has a \${ that is not \${NAME}, \${NAME:-default} or \${file:path}; write $\${ for a literal \${`);
      return match;
    }
    const value = variables[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) {
      problems.push(`needs the environment variable ${name}: set it, or give a default as in \${${name}:-value}`);
      return match;
    }
    return value;
  });
  return { text: replaced, problems };
}

/** Reads the whole text of a small file, or says why it cannot be read. */
function readSecret(path: string): { text: string } | { problem: string } {
  let bytes: Buffer;
  try {
    // Opening a pipe without a writer would block the start for ever.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return { problem: `needs a file; ${path} is a folder, a pipe or a device` };
      const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
      bytes = buffer.subarray(0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'it cannot be read';
    return { problem: `needs the file ${path} (${code}): mount it, or correct the path` };
  }
  if (bytes.length > MAX_FILE_BYTES) return { problem: `needs a file of at most 64 KiB; ${path} is larger` };
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  return text === '' ? { problem: `needs a text in the file ${path}, which is empty` } : { text };
}
