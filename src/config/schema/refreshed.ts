import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { seconds } from '../units.ts';

/** Secrets that expire and are fetched again while the gateway runs. */

const fromCommand = z.strictObject({
  /** The program and its arguments, without a shell; it prints the secret. */
  command: z.array(z.string().min(1)).min(1, 'needs the program, and then its arguments'),
  refresh_seconds: seconds.prefault(300),
  timeout_seconds: seconds.prefault(10),
});
const fromFile = z.strictObject({
  file: z.string().refine(isAbsolute, 'must be an absolute path'),
  refresh_seconds: seconds.prefault(60),
});
const commandSource = fromCommand.transform(({ command, refresh_seconds, timeout_seconds }) => ({
  kind: 'command' as const,
  command,
  refreshMs: refresh_seconds,
  timeoutMs: timeout_seconds,
}));
const fileSource = fromFile.transform(({ file, refresh_seconds }) => ({
  kind: 'file' as const,
  file,
  refreshMs: refresh_seconds,
}));
export type SecretSource = z.output<typeof commandSource> | z.output<typeof fileSource>;

/** A secret as plain text, or a source that supplies it. */
export const textOrSource = (text: z.ZodString) =>
  z.union([text, commandSource, fileSource], {
    error: 'needs a text in quotes, { command: [program, argument] } or { file: <path> }',
  });

/** A secret of a provider that a source supplies. */
export interface RefreshedSecret {
  /** The header that gets the secret; absent: it is the provider's `api_key`. */
  header?: string;
  source: SecretSource;
}

interface SecretSettings {
  api_key?: string | SecretSource | undefined;
  headers: Record<string, string | SecretSource>;
}

/** Moves secrets from sources to `refreshed`, so that `api_key` and `headers` hold plain texts only. */
export function separateSources<T extends SecretSettings>({ api_key, headers, ...rest }: T) {
  const plain: Record<string, string> = {};
  const refreshed: RefreshedSecret[] = [];
  if (typeof api_key === 'object') refreshed.push({ source: api_key });
  for (const [header, value] of Object.entries(headers)) {
    if (typeof value === 'string') plain[header] = value;
    else refreshed.push({ header, source: value });
  }
  return {
    ...rest,
    headers: plain,
    ...(typeof api_key === 'string' && { api_key }),
    ...(refreshed.length > 0 && { refreshed }),
  };
}
