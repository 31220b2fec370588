import type { z } from 'zod';
import { isObject } from '../base/json.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { formatPath } from '../base/text.ts';
import { knownKeys } from './known-keys.ts';

/** A schema issue in the terms of the configuration file. */
export interface DescribedIssue {
  path: PropertyKey[];
  message: string;
  /** Whether to show the position of the key and not of its value. */
  atKey: boolean;
  /** For a misspelt key: the path that was probably meant, which is then not reported as missing. */
  meant?: PropertyKey[] | undefined;
  /** Whether the value has the type that its key wants, and is wrong all the same. */
  isOfType?: boolean;
}

/** Issues of values that have the right type. */
const OF_TYPE: ReadonlySet<Issue['code']> = new Set(['too_small', 'too_big', 'invalid_format']);

type Issue = z.core.$ZodIssue;

/** Describes the issues of `root`, one entry per fix. Values are never quoted, because they may be secrets. */
export function describeIssues(issues: readonly Issue[], root: unknown): DescribedIssue[] {
  const described = issues.flatMap((issue) => describeIssue(issue, root));
  const misspelt = described.flatMap(({ meant }) => (meant === undefined ? [] : formatPath(meant)));
  return described.filter(({ path, meant }) => meant !== undefined || !misspelt.includes(formatPath(path)));
}

function describeIssue(issue: Issue, root: unknown): DescribedIssue[] {
  const path = [...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownKey(key, path, valueAt(root, path)));
  }
  if (issue.code === 'invalid_key') {
    const message = `is not a usable name: it ${issue.issues[0]?.message ?? 'has characters that are not allowed'}`;
    return [{ path, message, atKey: true }];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return describeUnion(issue, root);
  const isOfType = OF_TYPE.has(issue.code);
  return [{ path, message: describeValue(issue, valueAt(root, path)), atKey: false, isOfType }];
}

/** Describes a union by the issues of the option that was probably meant, or by its own message if that is unclear. */
function describeUnion(issue: z.core.$ZodIssueInvalidUnion, root: unknown): DescribedIssue[] {
  const ranked = issue.errors
    .map((issues) => ({ issues, mismatch: issues.reduce((sum, each) => sum + mismatchOf(each), 0) }))
    .sort((a, b) => a.mismatch - b.mismatch);
  const [best, second] = ranked;
  if (best === undefined || best.mismatch === second?.mismatch) {
    const misspelt = misspeltKeys([...issue.path], valueAt(root, issue.path));
    return misspelt.length > 0 ? misspelt : [{ path: [...issue.path], message: issue.message, atKey: false }];
  }
  const described = best.issues.flatMap((each) =>
    describeIssue({ ...each, path: [...issue.path, ...each.path] }, root),
  );
  // The value may have the type of another option.
  return described.map((each) => ({ ...each, isOfType: false }));
}

/** How far an issue is from the option of a union: infinitely for a value of another type, else its unknown keys. */
function mismatchOf(issue: Issue): number {
  const isOtherType = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  if (isOtherType && issue.path.length === 0) return Number.POSITIVE_INFINITY;
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 0;
}

/** The unknown keys of a section that are close to a known one. */
function misspeltKeys(path: PropertyKey[], section: unknown): DescribedIssue[] {
  if (!isObject(section)) return [];
  const { matching, others } = knownKeys(path, section);
  const unknown = Object.keys(section).filter((key) => !matching.includes(key) && !others.includes(key));
  return unknown.map((key) => unknownKey(key, path, section)).filter(({ meant }) => meant !== undefined);
}

function unknownKey(key: string, parent: readonly PropertyKey[], section: unknown): DescribedIssue {
  const { matching, others, kind } = knownKeys(parent, section);
  const described = { path: [...parent, key], atKey: true };
  if (others.includes(key)) return { ...described, message: `does not go with \`${kind}\`; remove it` };
  if (matching.includes(key)) return { ...described, message: 'does not go with the other keys here; remove it' };
  const meant = nearest(key, matching);
  if (meant !== undefined) {
    return { ...described, message: `is not a known key; did you mean \`${meant}\`?`, meant: [...parent, meant] };
  }
  const known = matching.length === 0 ? 'remove it' : `known here: ${matching.join(', ')}`;
  return { ...described, message: `is not a known key; ${known}` };
}

function describeValue(issue: Issue, value: unknown): string {
  if (value === undefined) return `is missing${expectation(issue)}`;
  if (value === null) return `is empty${expectation(issue)}, or remove the key`;
  switch (issue.code) {
    case 'invalid_type': {
      const actual = kindOf(value, issue.expected);
      return `must be ${withArticle(issue.expected)}, not ${withArticle(actual)}${fixOf(issue.expected, value)}`;
    }
    case 'invalid_value':
      return withGuess(`must be one of: ${issue.values.join(', ')}`, value);
    case 'too_small':
      if (!isDefaultMessage(issue)) return issue.message;
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array') return 'must have an entry';
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return isDefaultMessage(issue)
        ? `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
        : issue.message;
    default:
      return withGuess(issue.message, value);
  }
}

/** How to fix a value of the wrong type, if that is clear. */
function fixOf(expected: string, value: unknown): string {
  if (expected === 'array') return isObject(value) ? ': begin each entry with "- "' : ': put it in [ ]';
  if (expected === 'string' && typeof value !== 'object') return ': put it in quotes';
  const unquoted = expected === 'boolean' ? /^(?:true|false)$/ : /^-?\d+(?:\.\d+)?$/;
  return typeof value === 'string' && unquoted.test(value) ? ': write it without quotes' : '';
}

/** Adds the word that was probably meant to a message that lists words. */
function withGuess(message: string, value: unknown): string {
  const words = /^must be one of: (.+)$/.exec(message)?.[1]?.split(', ');
  const guess = words && typeof value === 'string' ? didYouMean(value, words) : undefined;
  return guess === undefined ? message : `${message}; ${guess}`;
}

function isDefaultMessage(issue: Issue): boolean {
  return /^(Too (small|big)|Invalid)/.test(issue.message);
}

function expectation(issue: Issue): string {
  if (!isDefaultMessage(issue)) return `: ${issue.message}`;
  if (issue.code === 'invalid_type') return `: give ${withArticle(issue.expected)}`;
  if (issue.code === 'invalid_value') return `: give one of ${issue.values.join(', ')}`;
  return ': give a value';
}

const YAML_WORDS: Readonly<Record<string, string>> = {
  object: 'a section of key: value lines',
  record: 'a section of key: value lines',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  fraction: 'one with a fraction',
  endless: '.nan, .inf or one too large',
  boolean: 'true or false',
};

function withArticle(kind: string): string {
  return YAML_WORDS[kind] ?? kind;
}

function kindOf(value: unknown, expected: string): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'endless';
  if (typeof value === 'number' && expected === 'int') return 'fraction';
  return Array.isArray(value) ? 'array' : typeof value;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const part of path) {
    if (Array.isArray(value) && typeof part === 'number') value = value[part];
    else if (isObject(value) && Object.hasOwn(value, part)) value = value[String(part)];
    else return undefined;
  }
  return value;
}
