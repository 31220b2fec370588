import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where compiled code is kept from one start to the next, which halves the CPU of a start. Beside what was installed,
 * not in a shared folder for temporary files, where another user could plant code; where it cannot be written (a
 * read-only image) the runtime does without.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));

/**
 * The variables of a thread that is to know none of the process: only where compiled code is kept, for a thread whose
 * variables are its own would compile all that it loads anew.
 */
export function threadVariables(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  // The folder that was asked for holds one for each version of the runtime.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
