import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  visit,
} from 'yaml';
import { isObject } from '../../base/json.ts';
import { once } from '../../base/once.ts';
import { formatPath } from '../../base/text.ts';
import type { ConfigProblem } from '../config-error.ts';
import { readManyKeys } from './many-keys.ts';
import { substitute } from './substitution.ts';
import { yamlFaults } from './yaml-errors.ts';

/** More than any configuration needs, and few enough that nested aliases cannot exhaust the memory. */
const MAX_ALIASES = 10_000;

/** Schemas drop this key silently, lest it sets the prototype of an object. */
const DROPPED_KEY = '__proto__';

/** A YAML file parsed into plain values, with the position of each value in the file. */
export interface YamlSource {
  value: unknown;
  problems: ConfigProblem[];
  /**
   * Reads the values at these paths that hold a `${NAME}` as the other type (text as a number, `true`, `false` or null if
   * it looks like one, anything else as text) and returns the whole value. Undefined if none of them holds one.
   */
  reread(paths: readonly (readonly PropertyKey[])[]): unknown;
  /** The position of a value, or of its nearest ancestor in the file. */
  locate(path: readonly PropertyKey[]): { line: number; column: number };
  /** The position of the key of a value. */
  locateKey(path: readonly PropertyKey[]): { line: number; column: number };
}

/**
 * Parses YAML and replaces `${NAME}` in its values (never in keys). An unquoted value with a reference gets the type that
 * YAML would give the result, so that `port: ${PORT:-8080}` is a number; a quoted one stays a string. `reread` changes that.
 */
export function readYaml(text: string, variables: Readonly<Record<string, string | undefined>>): YamlSource {
  const read = (yaml: string) => readWhole(yaml, variables);
  const valueIfValid = ({ problems, value }: YamlSource) => (problems.length === 0 ? value : undefined);
  const manyKeys = readManyKeys(text, (items) => valueIfValid(read(items)));
  const rest = manyKeys && valueIfValid(read(manyKeys.rest));
  if (!isObject(rest)) return read(text);
  const whole = once(() => read(text));
  return {
    value: { ...rest, keys: manyKeys?.keys },
    problems: [],
    reread: (paths) => whole().reread(paths),
    locate: (path) => whole().locate(path),
    locateKey: (path) => whole().locateKey(path),
  };
}

function readWhole(text: string, variables: Readonly<Record<string, string | undefined>>): YamlSource {
  const lineCounter = new LineCounter();
  const document = parse(text, lineCounter);
  const position = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problems: ConfigProblem[] = yamlFaults(text, [...document.errors, ...document.warnings]).map(
    ({ offset, message }) => ({
      path: '',
      ...position(offset),
      message: `is not valid YAML: ${message}`,
    }),
  );
  const references = new Map<string, Reference>();
  const locate = (path: readonly PropertyKey[], wantKey: boolean) => position(findOffset(document, path, wantKey));
  const source: YamlSource = {
    value: undefined,
    problems,
    reread: (paths) => {
      const found = paths.flatMap((path) => references.get(formatPath(path)) ?? []);
      for (const { node, text } of found) node.value = typeof node.value === 'string' ? plainValue(text) : text;
      return found.length === 0 ? undefined : document.toJS({ maxAliasCount: MAX_ALIASES });
    },
    locate: (path) => locate(path, false),
    locateKey: (path) => locate(path, true),
  };
  if (problems.length > 0) return source;
  if (text.includes(DROPPED_KEY)) problems.push(...droppedKeys(document, position));
  if (text.includes('${')) problems.push(...substituteScalars(document, { variables, position, references }));
  try {
    source.value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    if (error instanceof ReferenceError) {
      const lost = lostAliases(document, position);
      problems.push(...(lost.length > 0 ? lost : [{ path: '', message: `has more than ${MAX_ALIASES} aliases` }]));
    } else if (error instanceof Error && error.message.startsWith('Merge sources'))
      problems.push({ path: '', message: 'has a << that leads to no section: put the alias of one behind it' });
    else if (error instanceof RangeError)
      problems.push({ path: '', message: 'has a << that leads to the section around it: name another section' });
    else throw error;
  }
  return source;
}

/**
 * Parses with an empty `process.env`: for every token, which may be a secret, the parser checks whether LOG_TOKENS has it
 * print the token. With many variables those checks also take a third of its time.
 */
function parse(text: string, lineCounter: LineCounter): Document.Parsed {
  const { env } = process;
  process.env = {};
  try {
    // With prettyErrors, messages would quote lines of the file, and so secrets. So would warnings about a key such as
    // `{{ secret }}`.
    return parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error', merge: true });
  } finally {
    process.env = env;
  }
}

/** A value that held a `${NAME}`, and its text after the replacement. */
interface Reference {
  node: Scalar;
  text: string;
}

/** Replaces `${NAME}` in all values, and notes the values by their paths. */
function substituteScalars(
  document: Document,
  {
    variables,
    position: positionAt,
    references,
  }: {
    variables: Readonly<Record<string, string | undefined>>;
    position(offset: number): { line: number; column: number };
    references: Map<string, Reference>;
  },
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visit(document, {
    Scalar(role, node, parents) {
      if (typeof node.value !== 'string' || !node.value.includes('${')) return;
      const position = { path: formatPath(pathOf(node, parents)), ...positionAt(node.range?.[0] ?? 0) };
      if (role === 'key') {
        problems.push({ ...position, message: `is a key with \${...}: variables are replaced in values only` });
        return;
      }
      const { text, problems: failures } = substitute(node.value, variables);
      problems.push(...failures.map((message) => ({ ...position, message })));
      node.value = node.type === Scalar.PLAIN ? plainValue(text) : text;
      references.set(position.path, { node, text });
    },
  });
  return problems;
}

function droppedKeys(document: Document, positionAt: (offset: number) => { line: number; column: number }) {
  const problems: ConfigProblem[] = [];
  visit(document, {
    Scalar(role, node, parents) {
      if (role !== 'key' || node.value !== DROPPED_KEY) return;
      const message = 'is a name that every JavaScript object has: choose another one';
      problems.push({ path: formatPath(pathOf(node, parents)), ...positionAt(node.range?.[0] ?? 0), message });
    },
  });
  return problems;
}

/** Aliases that name no anchor before them. */
function lostAliases(document: Document, positionAt: (offset: number) => { line: number; column: number }) {
  const problems: ConfigProblem[] = [];
  const anchors = new Set<string>();
  visit(document, {
    Node(_, node) {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source)) {
        const message = `has the alias \`${node.source}\` without its anchor: write &${node.source} before it`;
        problems.push({ path: '', ...positionAt(node.range?.[0] ?? 0), message });
      }
    },
  });
  return problems;
}

/** The value of an unquoted scalar: number, boolean, null or text. */
function plainValue(text: string): unknown {
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && Number.isSafeInteger(Math.trunc(Number(text)))) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  return text === 'null' ? null : text;
}

function pathOf(node: unknown, parents: readonly unknown[]): PropertyKey[] {
  const path: PropertyKey[] = [];
  const chain = [...parents, node];
  for (const [index, parent] of chain.entries()) {
    if (isPair(parent)) path.push(String(isScalar(parent.key) ? parent.key.value : parent.key));
    else if (isSeq(parent)) path.push(parent.items.indexOf(chain[index + 1]));
  }
  return path;
}

function findOffset(document: Document, path: readonly PropertyKey[], wantKey: boolean): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, part] of path.entries()) {
    const container = isAlias(node) ? node.resolve(document) : node;
    let child: unknown;
    if (isMap(container)) {
      const pair = container.items.find((item) => String(isScalar(item.key) ? item.key.value : item.key) === part);
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      if (wantKey && depth === path.length - 1) return offset;
      child = pair.value;
    } else if (isSeq(container) && typeof part === 'number') child = container.items[part];
    if (child === undefined || child === null) return offset;
    node = child;
    offset = isMap(node) || isSeq(node) ? offset : (startOf(node) ?? offset);
    if (isSeq(container)) offset = startOf(node) ?? offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  if (isMap(node) || isSeq(node) || isScalar(node) || isAlias(node)) return node.range?.[0];
  return undefined;
}
