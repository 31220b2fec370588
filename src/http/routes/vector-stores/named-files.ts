import type { Attributes } from '../../../vector-stores/filters.ts';
import type { NewFiles } from '../../../vector-stores/vector-stores.ts';
import type { AppDeps } from '../../app-deps.ts';

interface NamedFile {
  id: string;
  attributes: Attributes;
  chunking: Record<string, unknown> | undefined;
}

/** How many files are looked up at the same time. */
const CONCURRENT_LOOKUPS = 32;

/** The user's files that a request names. @throws GatewayError `not_found` with the file's place in `param`. */
export async function filesIn(
  { files }: AppDeps,
  user: string,
  named: readonly NamedFile[],
  param: string,
): Promise<NewFiles['files']> {
  const found: NewFiles['files'][number][] = [];
  for (let start = 0; start < named.length; start += CONCURRENT_LOOKUPS) {
    const batch = named.slice(start, start + CONCURRENT_LOOKUPS).map(async ({ id, attributes, chunking }, index) => {
      const place = named.length === 1 && param === 'file_id' ? param : `${param}[${start + index}]`;
      return { file: await files.find(user, id, place), attributes, chunking };
    });
    found.push(...(await Promise.all(batch)));
  }
  return found;
}
