/** Options of `tools.web_search` that a search provider may require. */
export type SearchOption = 'url' | 'api_key' | 'engine_id';

/** What the gateway has to know about a search provider before its code is loaded. */
export interface SearchProviderRow {
  needs: readonly SearchOption[];
  /** How many concurrent searches it allows, if fewer than usual. */
  maxConcurrent?: number;
  /** How long one search may take, in milliseconds, if that is longer than usual. */
  timeoutMs?: number;
  /** Whether results may be cached and shared with other runs; not so for local files, which change. */
  cacheable: boolean;
  /** Countries for which it can localise results, as ISO 3166 codes. Default: none. */
  countries?: 'all' | readonly string[];
}

/** Countries that Brave and You.com document. Both refuse a search with any other country. */
const COUNTRIES =
  'AR AU AT BE BR CA CL CN DE DK ES FI FR GB HK ID IN IT JP KR MX MY NL NO NZ PH PL PT RU SA SE TR TW US ZA'.split(' ');

/** Countries that Tavily documents. */
const TAVILY_COUNTRIES = (
  'AF AL DZ AD AO AR AM AU AT AZ BS BH BD BB BY BE BZ BJ BT BO BA BW BR BN BG BF BI KH CM CA CV CF TD CL CN CO KM CG CR ' +
  'HR CU CY CZ DK DJ DO EC EG SV GQ ER EE ET FJ FI FR GA GM GE DE GH GR GT GN HT HN HU IS IN ID IR IQ IE IL IT JM JP JO ' +
  'KZ KE KW KG LV LB LS LR LY LI LT LU MG MW MY MV ML MT MR MU MX MD MC MN ME MA MZ MM NA NP NL NZ NI NE NG KP MK NO OM ' +
  'PK PA PG PY PE PH PL PT QA RO RU RW SA SN RS SG SK SI SO ZA KR SS ES LK SD SE CH SY TW TJ TZ TH TG TT TN TR TM UG UA ' +
  'AE GB US UY UZ VE VN YE ZM ZW'
).split(' ');

/**
 * The search providers, one row each. Their code is `tools/web-search/providers/<name>.ts`, loaded on the first search;
 * the configuration, its checks and its messages follow from these rows.
 */
const ROWS = {
  // A first search starts a thread and indexes the folder, which takes long on a busy machine.
  local: { needs: [], cacheable: false, timeoutMs: 18_000 },
  searxng: { needs: ['url'], cacheable: true },
  // Free plans allow one request a second.
  brave: { needs: ['api_key'], cacheable: true, maxConcurrent: 1, countries: COUNTRIES },
  exa: { needs: ['api_key'], cacheable: true, countries: 'all' },
  google: { needs: ['api_key', 'engine_id'], cacheable: true, countries: 'all' },
  jina: { needs: ['api_key'], cacheable: true, countries: 'all' },
  kagi: { needs: ['api_key'], cacheable: true },
  serper: { needs: ['api_key'], cacheable: true, countries: 'all' },
  tavily: { needs: ['api_key'], cacheable: true, countries: TAVILY_COUNTRIES },
  you: { needs: ['api_key'], cacheable: true, countries: COUNTRIES },
} as const satisfies Record<string, SearchProviderRow>;

export type SearchProviderName = keyof typeof ROWS;

export const SEARCH_PROVIDERS: Readonly<Record<SearchProviderName, SearchProviderRow>> = ROWS;

/** The names, in the order in which messages list them. */
export const SEARCH_PROVIDER_NAMES = Object.keys(ROWS).filter(isSearchProvider);

function isSearchProvider(name: string): name is SearchProviderName {
  return Object.hasOwn(ROWS, name);
}

/** The ISO 3166 code of `requested` if the provider can localise results for that country, else undefined. */
export function searchableCountry(provider: SearchProviderName, requested: string | undefined): string | undefined {
  const country = requested?.trim().toUpperCase() ?? '';
  const { countries = [] } = SEARCH_PROVIDERS[provider];
  const isKnown = countries === 'all' ? /^[A-Z]{2}$/.test(country) : countries.includes(country);
  return isKnown ? country : undefined;
}
