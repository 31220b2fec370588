import { fileURLToPath } from 'node:url';

/**
 * Where compiled code is kept from one start to the next, which halves the CPU of a start. Beside what was installed,
 * not in a shared folder for temporary files, where another user could plant code; where it cannot be written (a
 * read-only image) the runtime does without.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));
