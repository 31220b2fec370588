import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { isObject } from '../base/json.ts';
import { hasCredentialInQuery, isCredentialHeader } from './credential-places.ts';

/** A provider's section as the file has it, before variables are replaced; undefined where the file changed meanwhile. */
export async function writtenProvider(file: string, name: string): Promise<Record<string, unknown> | undefined> {
  const root: unknown = parse(await readFile(resolve(file), 'utf8'), { logLevel: 'silent' });
  const providers = isObject(root) ? root.providers : undefined;
  const written = isObject(providers) && Object.hasOwn(providers, name) ? providers[name] : undefined;
  return isObject(written) ? maskedProvider(name, written) : undefined;
}

/** A provider's section fit to be shown: a credential that is a reference stays, any other becomes one. */
export function maskedProvider(name: string, written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...written };
  const variable = (what: string) => `\${${`${name}_${what}`.toUpperCase().replace(/\W+/g, '_')}}`;
  if ('api_key' in shown) shown.api_key = reference(shown.api_key, variable('api_key'));
  if (isObject(shown.headers)) {
    const headers = Object.entries(shown.headers).map(([header, value]) => {
      const isCredential = isObject(value) || isCredentialHeader(header, String(value));
      return [header, isCredential ? reference(value, variable(header)) : value];
    });
    shown.headers = Object.fromEntries(headers);
  }
  if (hasCredentialInQuery({ base_url: String(shown.base_url) })) shown.base_url = variable('base_url');
  return shown;
}

const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** A credential without what is secret in it. A default may be one. */
function reference(value: unknown, placeholder: string): unknown {
  if (isObject(value) && 'file' in value) return value;
  const text = String(value);
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  const [, file, name] = /^\$\{(?:(file:[^{}$]+)|(\w+)(?::-[^}]*)?)\}$/.exec(text.slice(scheme.length)) ?? [];
  const variable = file ?? name;
  return scheme + (variable === undefined ? placeholder : `\${${variable}}`);
}
