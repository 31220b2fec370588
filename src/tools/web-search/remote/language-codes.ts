/**
 * The result languages that Brave (`search_lang`) and You.com (`language`) document, in lower case. Both refuse a search
 * with any other code, even plain `zh`, `pt` and `ja`.
 */
const KNOWN = new Set(
  (
    'ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it jp kn ko lv lt ms ml mr nb ' +
    'pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi'
  ).split(' '),
);

/** The documented codes for common ones that are not. */
const ALIASES: Readonly<Record<string, string>> = {
  ja: 'jp',
  no: 'nb',
  pt: 'pt-br',
  zh: 'zh-hans',
  'zh-hk': 'zh-hant',
  'zh-mo': 'zh-hant',
  'zh-tw': 'zh-hant',
};

/** The documented code for a configured language such as `de-AT`; undefined if there is none. */
export function documentedLanguage(language: string): string | undefined {
  const code = language.toLowerCase();
  const base = code.split('-', 1)[0] ?? '';
  return [ALIASES[code] ?? code, ALIASES[base] ?? base].find((candidate) => KNOWN.has(candidate));
}

/** The code for a configured language at services that accept Google's `hl` in lower case: `zh-cn`, `pt-br`, `de`. */
export function interfaceLanguage(language: string): string {
  const code = language.toLowerCase();
  const base = code.split('-', 1)[0] ?? '';
  if (base === 'zh') return /-(tw|hk|mo|hant)$/.test(code) ? 'zh-tw' : 'zh-cn';
  return code === 'pt-br' ? code : base;
}
