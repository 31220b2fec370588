/** A metric in a query, with its label selectors. */
export interface Selector {
  metric: string;
  labels: { name: string; values: string[] }[];
}

/** The names in a Prometheus query. */
export interface QueryNames {
  selectors: Selector[];
  /** Labels of `by`, `on` and the like. */
  grouped: string[];
}

const GROUPING = 'by|without|on|ignoring|group_left|group_right';
const OPERATORS = new Set(['and', 'or', 'unless', 'offset', 'bool', 'inf', 'nan']);

/** In this order: strings, ranges, numbers and durations, labels of groups, functions, and otherwise metrics. */
const TOKEN = new RegExp(
  [
    '"(?:[^"\\\\]|\\\\.)*"',
    '\\[[^\\]]*\\]',
    '\\d[\\w.]*',
    `\\b(?:${GROUPING})\\s*\\((?<grouped>[^)]*)\\)`,
    '[a-zA-Z_]\\w*\\s*(?=\\(|(?:by|without)\\b)',
    '(?<metric>[a-zA-Z_:][\\w:]*)\\s*(?:\\{(?<matchers>(?:[^"}]|"(?:[^"\\\\]|\\\\.)*")*)\\})?',
  ].join('|'),
  'g',
);

const MATCHER = /([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g;

/** Extracts the names from a query. It does not check the syntax, which promtool does. */
export function namesIn(query: string): QueryNames {
  const selectors: Selector[] = [];
  const grouped: string[] = [];
  for (const { groups = {} } of query.matchAll(TOKEN)) {
    grouped.push(...(groups.grouped?.split(',') ?? []).map((name) => name.trim()).filter((name) => name !== ''));
    const { metric, matchers = '' } = groups;
    if (metric !== undefined && !OPERATORS.has(metric)) selectors.push({ metric, labels: labelsIn(matchers) });
  }
  return { selectors, grouped };
}

function labelsIn(matchers: string): Selector['labels'] {
  return [...matchers.matchAll(MATCHER)].map(([, name = '', operator = '', value = '']) => ({
    name,
    values: operator.endsWith('~') ? value.split('|') : [value],
  }));
}
