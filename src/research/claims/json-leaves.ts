/** A primitive value in a JSON text. */
export interface JsonLeaf {
  /** RFC 6901. */
  path: string;
  /** The range of the value; of a string without its quotes. */
  start: number;
  end: number;
  text: string;
  kind: 'string' | 'number' | 'other';
  /** The names that lead to it, and the string values beside it in its object. */
  about: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/g;

interface Level {
  /** The path of the object or array itself, and the names that lead to it. */
  path: string;
  names: readonly string[];
  name: string | undefined;
  index: number;
  isArray: boolean;
  /** Its first string values, one more than `MAX_BESIDE`. */
  strings: { path: string; text: string }[];
}

/** Values that are nested deeper are ignored. */
const MAX_DEPTH = 64;
/** Longer names are cut, in UTF-16 code units. */
const LONGEST_NAME = 200;
/** How many neighbouring strings describe a value. */
const MAX_BESIDE = 4;

/** The leaves of a valid JSON text, in order. What each of them is about is known once all are read. */
export function* leavesOf(json: string): Generator<JsonLeaf> {
  const levels: Level[] = [levelOf(undefined, { isArray: false })];
  let name: string | undefined;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    const isTop = levels.length === 1;
    if (token === '{' || token === '[') levels.push(levelOf(isTop ? undefined : level, { isArray: token === '[' }));
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',') {
      if (level?.isArray) level.index++;
      else if (level) level.name = undefined;
    } else if (token === ':') {
      if (level) level.name = name;
    } else if (level && !isTop && !level.isArray && level.name === undefined) name = unquoted(token);
    else if (level && levels.length - 1 <= MAX_DEPTH) {
      const path = isTop ? '' : pathIn(level);
      const leaf = leafOf(token, { index, path });
      const { kind, text } = leaf;
      const isNew = kind === 'string' && level.strings.length <= MAX_BESIDE;
      if (isNew && !level.strings.some((other) => other.path === path)) level.strings.push({ path, text });
      const names = isTop ? [] : namesIn(level);
      yield {
        ...leaf,
        get about() {
          const beside = level.strings.filter((other) => other.path !== path).map((other) => other.text);
          return [...names, ...beside.slice(0, MAX_BESIDE)];
        },
      };
    }
  }
}

function levelOf(outer: Level | undefined, { isArray }: { isArray: boolean }): Level {
  const place = outer ? { path: pathIn(outer), names: namesIn(outer).slice(-MAX_DEPTH) } : { path: '', names: [] };
  return { ...place, name: undefined, index: 0, isArray, strings: [] };
}

function pathIn({ path, isArray, index, name = '' }: Level): string {
  return `${path}/${isArray ? index : name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function namesIn({ names, isArray, name = '' }: Level): readonly string[] {
  return isArray ? names : [...names, name.slice(0, LONGEST_NAME).replace(/[_-]+/g, ' ')];
}

function leafOf(token: string, { index, path }: { index: number; path: string }): Omit<JsonLeaf, 'about'> {
  if (token.startsWith('"')) {
    return { path, start: index + 1, end: index + token.length - 1, text: unquoted(token), kind: 'string' };
  }
  const kind = /^[-\d]/.test(token) ? 'number' : 'other';
  return { path, start: index, end: index + token.length, text: token, kind };
}

function unquoted(token: string): string {
  const value: unknown = JSON.parse(token);
  return typeof value === 'string' ? value : '';
}
