import type { z } from 'zod';
import { isObject } from '../base/json.ts';
import { knownKeys, nearest } from './known-keys.ts';

/** A schema issue in the words of the configuration file. */
export interface DescribedIssue {
  path: PropertyKey[];
  message: string;
  /** The position to show is that of the key, not of its value. */
  atKey: boolean;
}

type Issue = z.core.$ZodIssue;

/** Explains what is wrong with `root`, one entry per fix. Values are never quoted: they may be secrets. */
export function describeIssue(issue: Issue, root: unknown): DescribedIssue[] {
  const path = [...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], message: unknownKey(key, path), atKey: true }));
  }
  if (issue.code === 'invalid_key') {
    const message = `is not a usable name: it ${issue.issues[0]?.message ?? 'has characters that are not allowed'}`;
    return [{ path, message, atKey: true }];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return describeUnion(issue, root);
  return [{ path, message: describeValue(issue, valueAt(root, path)), atKey: false }];
}

/** A union is explained by the one option that was meant, or by the union's own message where that is unclear. */
function describeUnion(issue: z.core.$ZodIssueInvalidUnion, root: unknown): DescribedIssue[] {
  const ranked = issue.errors
    .map((issues) => ({ issues, strangers: issues.reduce((sum, each) => sum + strangerKeys(each), 0) }))
    .sort((a, b) => a.strangers - b.strangers);
  const [best, second] = ranked;
  const unclear = best === undefined || best.strangers === second?.strangers;
  if (unclear) return [{ path: [...issue.path], message: issue.message, atKey: false }];
  return best.issues.flatMap((each) => describeIssue({ ...each, path: [...issue.path, ...each.path] }, root));
}

function strangerKeys(issue: Issue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 0;
}

function unknownKey(key: string, parent: readonly PropertyKey[]): string {
  const known = knownKeys(parent);
  const meant = nearest(key, known);
  if (meant !== undefined) return `is not a known key; did you mean \`${meant}\`?`;
  return known.length === 0 ? 'is not a known key; remove it' : `is not a known key; known here: ${known.join(', ')}`;
}

function describeValue(issue: Issue, value: unknown): string {
  if (value === undefined) return `is missing${expectation(issue)}`;
  if (value === null) return `is empty${expectation(issue)}, or remove the key`;
  switch (issue.code) {
    case 'invalid_type': {
      const quotes = issue.expected === 'string' && typeof value !== 'object' ? ': put it in quotes' : '';
      return `must be ${article(issue.expected)}, not ${article(kindOf(value))}${quotes}`;
    }
    case 'invalid_value':
      return `must be one of: ${issue.values.join(', ')}`;
    case 'too_small':
      return isDefaultMessage(issue)
        ? `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
        : issue.message;
    case 'too_big':
      return isDefaultMessage(issue)
        ? `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
        : issue.message;
    default:
      return issue.message;
  }
}

function isDefaultMessage(issue: Issue): boolean {
  return /^(Too (small|big)|Invalid)/.test(issue.message);
}

function expectation(issue: Issue): string {
  if (!isDefaultMessage(issue)) return `: ${issue.message}`;
  if (issue.code === 'invalid_type') return `: give ${article(issue.expected)}`;
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
  boolean: 'true or false',
};

function article(kind: string): string {
  return YAML_WORDS[kind] ?? kind;
}

function kindOf(value: unknown): string {
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
