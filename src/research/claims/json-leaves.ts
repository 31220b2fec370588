/** A value of a JSON text that is no object and no array. */
export interface JsonLeaf {
  /** RFC 6901. */
  path: string;
  /** The range of the value; of a string what stands between its quotes. */
  start: number;
  end: number;
  /** The value as text. */
  text: string;
  kind: 'string' | 'number' | 'other';
  /** The string values beside it in its object, and the names that lead to it. */
  about: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/g;

interface Level {
  name: string | undefined;
  index: number;
  isArray: boolean;
  leaves: Draft[];
}

type Draft = Omit<JsonLeaf, 'about'> & { names: string[] };

/** The leaves of a JSON text that is valid, in their order. */
export function leavesOf(json: string): JsonLeaf[] {
  const levels: Level[] = [];
  const found: { draft: Draft; siblings: readonly Draft[] }[] = [];
  const top: Draft[] = [];
  let name: string | undefined;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[') levels.push({ name: undefined, index: 0, isArray: token === '[', leaves: [] });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',') {
      if (level?.isArray) level.index++;
      else if (level) level.name = undefined;
    } else if (token === ':') {
      if (level) level.name = name;
    } else if (level && !level.isArray && level.name === undefined) name = unquoted(token);
    else {
      const siblings = level && !level.isArray ? level.leaves : (level?.leaves ?? top);
      const draft = draftOf(token, { index, levels });
      siblings.push(draft);
      found.push({ draft, siblings });
    }
  }
  return found.map(({ draft: { names, ...leaf }, siblings }) => {
    const beside = siblings
      .filter((other) => other.path !== leaf.path && other.kind === 'string')
      .map(({ text }) => text);
    return { ...leaf, about: [...names, ...beside.slice(0, MOST_BESIDE)] };
  });
}
/** String values beside one that tell what it is of. */
const MOST_BESIDE = 4;

function draftOf(token: string, { index, levels }: { index: number; levels: readonly Level[] }): Draft {
  const keys = levels.map((level) => (level.isArray ? String(level.index) : (level.name ?? '')));
  const path = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const names = levels.flatMap((level) => (level.isArray ? [] : [(level.name ?? '').replace(/[_-]+/g, ' ')]));
  if (token.startsWith('"')) {
    return { path, start: index + 1, end: index + token.length - 1, text: unquoted(token), kind: 'string', names };
  }
  const kind = /^[-\d]/.test(token) ? 'number' : 'other';
  return { path, start: index, end: index + token.length, text: token, kind, names };
}

function unquoted(token: string): string {
  const value: unknown = JSON.parse(token);
  return typeof value === 'string' ? value : '';
}
