import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import jsTokens from 'js-tokens';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** A regular expression in the source. */
export interface FoundRegex {
  /** File, relative to src/. */
  file: string;
  literal: string;
  source: string;
  flags: string;
}

/** Every regular expression literal in src/. */
export function regexesIn(folder = SRC): FoundRegex[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|js|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .sort();
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const code = file.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text;
    const found: FoundRegex[] = [];
    for (const { type, value } of jsTokens(code)) {
      if (type !== 'RegularExpressionLiteral') continue;
      const end = value.lastIndexOf('/');
      found.push({ file, literal: value, source: value.slice(1, end), flags: value.slice(end + 1) });
    }
    return found;
  });
}

/** Sample characters: a character class is represented by those that it matches. */
const POOL = [
  ...Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)),
  ...'\n\t\r\0\u00e9\u00df\u200b\u0301\u0416\u6f22\u3042\u30a2\ud55c\u0e01\u0627\u05d0\u3002\u2026\u201c\uff08\u0660\uff11\ufeff'.split(
    '',
  ),
  '\u{1F600}',
];

/**
 * Texts of about a given number of characters that are crafted to make an expression slow: what precedes a repetition, then
 * what it repeats, then something that does not match; and its beginning over and over without its end.
 */
export function attacksOn({ source, flags }: FoundRegex): ((length: number) => string)[] {
  const unicode = flags.includes('u');
  const unicodeSets = flags.includes('v');
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, { unicode, unicodeSets });
  const sampler = new Sampler(flags);
  const texts = new Map<string, (length: number) => string>();
  const add = (before: string, pump: string) => {
    if (pump === '') return;
    for (const end of ['', '\0', '\n\0', '!']) {
      const text = (length: number) => before + pump.repeat(Math.ceil(length / pump.length)) + end;
      texts.set(text(2 * pump.length), text);
    }
  };
  for (const alternative of pattern.alternatives) {
    const parts = alternative.elements.map((element) => sampler.sample(element));
    // The beginning without the end, from every length of it.
    for (let count = 1; count <= parts.length; count++) add('', parts.slice(0, count).join(''));
    const visit = (elements: readonly AST.Element[], before: string) => {
      let prefix = before;
      for (const element of elements) {
        if (element.type === 'Quantifier' && element.max > 20) {
          for (const pump of sampler.samples(element.element)) {
            add(prefix, pump);
            add('', prefix + pump);
            add('', pump + prefix);
          }
        }
        const inner = element.type === 'Quantifier' ? element.element : element;
        if (inner.type === 'Group' || inner.type === 'CapturingGroup') {
          for (const { elements: within } of inner.alternatives) visit(within, prefix);
        }
        prefix += sampler.sample(element);
      }
    };
    visit(alternative.elements, '');
  }
  return [...texts.values()];
}

class Sampler {
  readonly #flags: string;

  constructor(flags: string) {
    this.#flags = flags.replace(/[gyd]/g, '');
  }

  /** A short text that an element matches; empty for an assertion. */
  sample(element: AST.Element): string {
    return this.samples(element)[0] ?? '';
  }

  /** Up to three texts that an element matches. */
  samples(element: AST.Element): string[] {
    switch (element.type) {
      case 'Character':
        return [String.fromCodePoint(element.value)];
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass': {
        const matches = new RegExp(`^(?:${element.raw})$`, this.#flags);
        const fitting = POOL.filter((char) => matches.test(char));
        const letters = fitting.filter((char) => /[a-z\d]/i.test(char));
        return [letters[0], fitting.find((char) => /\s/.test(char)), fitting.at(-1), fitting[0]].filter(
          (char) => char !== undefined,
        );
      }
      case 'Group':
      case 'CapturingGroup':
        return element.alternatives
          .map(({ elements }) => elements.map((each) => this.sample(each)).join(''))
          .slice(0, 3);
      case 'Quantifier':
        return [this.sample(element.element).repeat(Math.max(1, Math.min(element.min, 5)))];
      default:
        return [''];
    }
  }
}

/** Runs an expression over a text as the code does: for its first match, or for all matches. */
export function runRegex({ source, flags }: FoundRegex, text: string): () => void {
  const regex = new RegExp(source, flags);
  return () => {
    if (regex.global) for (const _ of text.matchAll(regex));
    else {
      regex.lastIndex = 0;
      regex.exec(text);
    }
  };
}
