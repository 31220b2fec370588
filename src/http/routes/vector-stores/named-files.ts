import type { Attributes } from '../../../vector-stores/filters.ts';
import { forRecords } from '../../../vector-stores/records.ts';
import type { NewFiles } from '../../../vector-stores/vector-stores.ts';
import type { AppDeps } from '../../app-deps.ts';

interface NamedFile {
  id: string;
  attributes: Attributes;
  chunking: Record<string, unknown> | undefined;
}

/** The user's files that a request names. @throws GatewayError `not_found` with the file's place in `param`. */
export async function filesIn(
  { files }: AppDeps,
  user: string,
  named: readonly NamedFile[],
  param: string,
): Promise<NewFiles['files']> {
  return await forRecords(named, async ({ id, attributes, chunking }, index) => {
    const place = named.length === 1 && param === 'file_id' ? param : `${param}[${index}]`;
    return { file: await files.find(user, id, place), attributes, chunking };
  });
}
