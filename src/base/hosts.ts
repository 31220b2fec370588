/** The host of a rule in the form that `URL` gives hosts: lower case, punycode, no `*.`, no trailing dot. */
export function normaliseHost(host: string): string {
  const bare = host
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const parsed = URL.parse(`http://${bare}/`);
  return parsed ? parsed.hostname.replace(/\.$/, '') : bare;
}

/** Whether `host` is one of `rules` or below one of them. */
export function matchesHost(host: string, rules: readonly string[]): boolean {
  const wanted = host.toLowerCase().replace(/\.$/, '');
  return rules.some((rule) => {
    const normalised = normaliseHost(rule);
    return normalised !== '' && (wanted === normalised || wanted.endsWith(`.${normalised}`));
  });
}
