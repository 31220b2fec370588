import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** `$${` (a literal `${`), `${NAME}`, `${NAME:-default}`, `${file:path}`, or a `${` that is none of these. */
const REFERENCE = /\$\$\{|\$\{file:([^{}\n]+)\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;
/** A secret is no longer than this, in bytes; a larger file is another one. */
const LARGEST_FILE = 64 * 1024;

/** Text with its references replaced, and what could not be replaced. */
export interface Substitution {
  text: string;
  problems: string[];
}

/**
 * Replaces `${NAME}`, `${NAME:-default}` (used where NAME is unset or empty, as in a shell) and `${file:path}` (the text of a
 * file without the line break at its end). What they hold is taken as it is, not searched for further references.
 */
export function substitute(text: string, variables: Readonly<Record<string, string | undefined>>): Substitution {
  const problems: string[] = [];
  const replaced = text.replace(REFERENCE, (match: string, file?: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (file !== undefined) {
      const found = readSecret(file.trim());
      if ('problem' in found) problems.push(found.problem);
      return 'text' in found ? found.text : match;
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

/** The text of a small file, or why there is none; never a part of it. */
function readSecret(path: string): { text: string } | { problem: string } {
  let bytes: Buffer;
  try {
    // A pipe that nobody writes into would hold the start for ever.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return { problem: `needs a file; ${path} is a folder, a pipe or a device` };
      const room = Buffer.alloc(LARGEST_FILE + 1);
      bytes = room.subarray(0, readSync(file, room));
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'it cannot be read';
    return { problem: `needs the file ${path} (${code}): mount it, or correct the path` };
  }
  if (bytes.length > LARGEST_FILE) return { problem: `needs a file of at most 64 KiB; ${path} is larger` };
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  return text === '' ? { problem: `needs a text in the file ${path}, which is empty` } : { text };
}
