import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { isObject } from '../base/json.ts';
import { hasCredentialInQuery, isCredentialHeader } from './credential-places.ts';

/** Reads a provider's section from the file, with references unresolved and credentials masked; undefined if it is gone. */
export async function readProviderSection(file: string, name: string): Promise<Record<string, unknown> | undefined> {
  const root: unknown = parse(await readFile(resolve(file), 'utf8'), { logLevel: 'silent', merge: true });
  const providers = isObject(root) ? root.providers : undefined;
  const section = isObject(providers) && Object.hasOwn(providers, name) ? providers[name] : undefined;
  return isObject(section) ? maskedProvider(name, section) : undefined;
}

/** A provider's section that is safe to show: references stay, and other credentials are replaced by references. */
export function maskedProvider(name: string, section: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const masked: Record<string, unknown> = { ...section };
  const variable = (setting: string) => `\${${`${name}_${setting}`.toUpperCase().replace(/\W+/g, '_')}}`;
  if ('api_key' in masked) masked.api_key = reference(masked.api_key, variable('api_key'));
  if (isObject(masked.headers)) {
    const headers = Object.entries(masked.headers).map(([header, value]) => {
      const isCredential = isObject(value) || isCredentialHeader(header, String(value));
      return [header, isCredential ? reference(value, variable(header)) : value];
    });
    masked.headers = Object.fromEntries(headers);
  }
  if (hasCredentialInQuery({ base_url: String(masked.base_url) })) masked.base_url = variable('base_url');
  return masked;
}

const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** Replaces a credential by a reference. A default in an existing reference is dropped, because it may be the secret. */
function reference(value: unknown, placeholder: string): unknown {
  if (isObject(value) && 'file' in value) return value;
  const text = String(value);
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  const [, file, name] = /^\$\{(?:(file:[^{}$]+)|(\w+)(?::-[^}]*)?)\}$/.exec(text.slice(scheme.length)) ?? [];
  const variable = file ?? name;
  return scheme + (variable === undefined ? placeholder : `\${${variable}}`);
}
