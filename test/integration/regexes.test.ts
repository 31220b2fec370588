import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { analyse } from 'scslre';
import { growsTooFast, ownMs, preciseMs } from '../support/fair-time.ts';
import { attacksOn, type FoundRegex, regexesIn, runRegex } from '../support/regex-attacks.ts';
import { patience } from '../support/time-limit.ts';

/**
 * Runs every regular expression of src/ on texts made for it. Text from a client, a page, a model or a provider reaches
 * them all sooner or later, and one with nested or adjacent repetitions blocks the event loop for seconds.
 */

/** Expressions that may take more than linear time, each with what bounds its input. */
const BOUNDED: readonly { file: string; literal: string; because: string }[] = [
  { file: 'upstream/dialects/think-tags.ts', literal: '/`*$/', because: '64 characters are looked at' },
  {
    file: 'research/answer/answer-scanner.ts',
    literal: '/^[\\s>]*(?:`*|~*)\\s*$/',
    because: 'LONGEST_FENCE bounds the line',
  },
  {
    file: 'research/text/unfenced.ts',
    literal: '/(?:^|\\n)[^\\S\\n]*`{0,3}\\s*$/',
    because: 'LONGEST_FENCE bounds the text',
  },
  {
    file: 'tools/fetch-url-content/reading/plain/charset.ts',
    literal: `/<meta[^>]{1,200}charset\\s*=\\s*["']?\\s*([\\w.:-]+)/i`,
    because: 'DECLARATION_BYTES, and it runs in the parse process',
  },
  {
    file: 'tools/fetch-url-content/reading/math/formula-images.ts',
    literal: '/^[^?]*codecogs\\.com\\/[^?]*\\?(?:latex=)?(.+)$/i',
    because: 'LONGEST bounds the address, and it runs in the parse process',
  },
  {
    file: 'config/yaml/substitution.ts',
    literal: '/\\$\\$\\{|\\$\\{file:([^{}\\n]+)\\}|\\$\\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\\}|\\$\\{/g',
    because: "the operator's own file",
  },
  {
    file: 'config/secrets.ts',
    literal: '/^rediss?(?:-cluster|-sentinel)?:\\/\\/[^@/]*?:([^@/]*)@/',
    because: "the operator's own file",
  },
  {
    file: 'upstream/routing/context-length.ts',
    literal: "/exceed\\w* (?:the )?(?:model(?:'s)? )?(?:total |maximum |max )?token limit(?!.{0,20}per)/i",
    because: 'LONGEST bounds the error',
  },
];

/**
 * Short texts come first, because exponential or cubic expressions would take forever on the long one. Linear or
 * quadratic ones take less than `maxMs` on any processor.
 */
const SHORT = [
  { length: 24, maxMs: 50 },
  { length: 300, maxMs: 50 },
  { length: 1200, maxMs: 150 },
];
/** Much longer than any bounded repetition, so that only unbounded ones still grow too fast. */
const LONG = 8000;
/** A run below this many milliseconds never counts as slow: quadratic work on the long text takes several times as long. */
const FAST_MS = 4;

/** Whether it takes longer three times in a row: compilation and garbage collection cost time only once. */
function takesLonger(go: () => void, ms: number): boolean {
  return [1, 2, 3].every(() => ownMs(go) > ms);
}

/** The first attack on which an expression is slow, or undefined. */
function slowAt(regex: FoundRegex): string | undefined {
  const describeSlow = (text: string) =>
    `${preciseMs(runRegex(regex, text)).toFixed(1)} ms for ${text.length} characters ${JSON.stringify(text.slice(0, 40))}`;
  const attacks = attacksOn(regex);
  for (const { length, maxMs } of SHORT) {
    const slow = attacks.find((attack) => takesLonger(runRegex(regex, attack(length)), maxMs));
    if (slow !== undefined) return describeSlow(slow(length));
  }
  for (const attack of attacks) {
    if (!takesLonger(runRegex(regex, attack(LONG)), FAST_MS)) continue;
    if (growsTooFast((share) => runRegex(regex, attack(LONG * share)))) return describeSlow(attack(LONG));
  }
  return undefined;
}

const isBounded = ({ file, literal }: FoundRegex) =>
  BOUNDED.some((known) => known.file === file && known.literal === literal);

const regexes = regexesIn();

/** Expressions that are built at each call, with a typical source. */
const PER_CALL: readonly FoundRegex[] = [
  { file: 'upstream/dialects/requests/trait.ts', source: '(?<!\\w)max_completion_tokens(?!\\w)', flags: 'i' },
  {
    file: 'upstream/dialects/text-tool-calls/text-tool-calls.ts',
    source: '^(?:\\[?\\s*\\{[^{}]{0,60}"(?:name|function)"\\s*:\\s*"(?:look|find)"|\\[\\s*(?:look|find)\\()',
    flags: '',
  },
  { file: 'upstream/dialects/marker-scan.ts', source: '<\\/think>|<think>', flags: 'gi' },
  { file: 'upstream/dialects/requests/instruction-role.ts', source: '\\bdeveloper\\b', flags: 'i' },
  {
    file: 'research/claims/text/word-list.ts',
    source: '(?<!\\p{L})(?:rose|increas\\p{L}*|going to)(?!\\p{L})',
    flags: 'gu',
  },
  { file: 'research/claims/claim-checker.ts', source: 'The\\s+lift\\s+is\\s+open', flags: '' },
  {
    file: 'research/claims/leaf-sources.ts',
    source:
      "(?<![1-9])(?:2[.,' \\u00a0\\u202f\\u2009٬٫]?6|2[.,' \\u00a0\\u202f\\u2009٬٫]?5[.,' \\u00a0\\u202f\\u2009٬٫]?[5-9])",
    flags: '',
  },
  { file: 'demo/words.ts', source: '(?<![\\p{L}\\p{N}_])resum\\p{L}{0,4}(?![\\p{L}\\p{N}_])', flags: 'u' },
].map((each) => ({ ...each, literal: `/${each.source}/${each.flags}` }));

/** The expressions that `new RegExp` builds: loading a module again shows the ones it builds at load time. */
async function builtRegexes(): Promise<FoundRegex[]> {
  const src = new URL('../../src/', import.meta.url);
  const built = [...PER_CALL];
  const original = globalThis.RegExp;
  for (const file of globSync('**/*.ts', { cwd: src })) {
    if (!readFileSync(new URL(file, src), 'utf8').includes('new RegExp(')) continue;
    if (PER_CALL.some((known) => known.file === file)) continue;
    const before = built.length;
    globalThis.RegExp = new Proxy(original, {
      construct(target, [pattern, given]: [string, string?]) {
        const regex = new target(pattern, given);
        const { source, flags } = regex;
        built.push({ file, source, flags, literal: `${regex}` });
        return regex;
      },
    });
    try {
      await import(`${new URL(file, src)}?built`);
    } finally {
      globalThis.RegExp = original;
    }
    assert.ok(built.length > before, `${file} makes its expressions at each call: add one like them to PER_CALL`);
  }
  return built;
}

/** The folders of src/ with regular expressions. */
const rooms = [...new Set(regexes.map(({ file }) => file.split('/')[0] ?? ''))];

describe('the regular expressions of src/', function () {
  // Every expression of a room is measured at several lengths, on a machine that may become slower meanwhile.
  this.timeout(patience(60));
  it('are found, and the list of bounded ones is up to date', () => {
    assert.ok(regexes.length > 400, `${regexes.length} were found`);
    for (const { file, literal } of BOUNDED) {
      assert.ok(
        regexes.some((regex) => regex.file === file && regex.literal === literal),
        `${file} has no ${literal} any more: take it off the list`,
      );
    }
  });

  it('are never exponential, by analysis', () => {
    const found = regexes.filter(exponential);
    assert.deepEqual(
      found.map(({ file, literal }) => `${file} ${literal}`),
      [],
    );
  });

  for (const room of rooms) {
    it(`take linear time in ${room}/, measured on texts made for each of them`, () => {
      const slow: string[] = [];
      for (const regex of regexes) {
        if (!regex.file.startsWith(`${room}/`) || isBounded(regex)) continue;
        const found = slowAt(regex);
        if (found !== undefined) slow.push(`${regex.file} ${regex.literal}: ${found}`);
      }
      assert.deepEqual(slow, []);
    });
  }

  it('take linear time when built with new RegExp, too', async () => {
    const built = await builtRegexes();
    assert.ok(built.length >= 5, `${built.length} were built`);
    assert.deepEqual(
      built.filter(exponential).map(({ file, literal }) => `${file} ${literal}`),
      [],
    );
    const slow = built.map((regex) => ({ ...regex, slow: slowAt(regex) })).filter(({ slow }) => slow !== undefined);
    assert.deepEqual(slow, []);
  });

  it('that are known to be slow are detected', () => {
    const literals = {
      exponential: ['/^(a+)+$/'],
      slow: ['/^(?:a|a)*b$/', '/\\s+$/', '/^\\s*([^\\n`]+)\\s*```/', '/<a>[\\s\\S]*?<\\/a>/g'],
    };
    const read = (literal: string) => {
      const end = literal.lastIndexOf('/');
      return { file: '', literal, source: literal.slice(1, end), flags: literal.slice(end + 1) };
    };
    for (const literal of literals.exponential) assert.ok(exponential(read(literal)), literal);
    for (const literal of literals.slow) assert.ok(slowAt(read(literal)) !== undefined, literal);
    assert.equal(slowAt({ file: '', literal: '/a+b/', source: '^a+b', flags: '' }), undefined);
  });
});

function exponential({ source, flags }: FoundRegex): boolean {
  return analyse({ source, flags }).reports.some((report) => report.exponential);
}
