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
