import { isIPv6 } from 'node:net';

/** The host of `example.org`, `*.example.org`, `https://example.org/` or an IP address, as `URL` writes it; else undefined. */
export function parseHost(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/^\*?\./, '');
  const url = bare === '' || bare.length > 300 ? null : URL.parse(`http://${isIPv6(bare) ? `[${bare}]` : bare}`);
  const isHost = url?.href === `${url?.origin}/` && url.port === '' && /^[\w.:[\]-]+$/.test(url.hostname);
  return isHost ? url?.hostname : undefined;
}

/** Normalises the host of a rule to the form that `URL` uses: lower case, punycode, no `*.`, no trailing dot. */
export function normaliseHost(host: string): string {
  const bare = host
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const parsed = URL.parse(`http://${bare}/`);
  return parsed ? parsed.hostname.replace(/\.$/, '') : bare;
}

/** Whether `host` is one of `rules` or a subdomain of one. */
export function matchesHost(host: string, rules: readonly string[]): boolean {
  const wanted = host.toLowerCase().replace(/\.$/, '');
  return rules.some((rule) => {
    const normalised = normaliseHost(rule);
    return normalised !== '' && (wanted === normalised || wanted.endsWith(`.${normalised}`));
  });
}
