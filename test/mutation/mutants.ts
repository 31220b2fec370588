import jsTokens from 'js-tokens';

/** One small fault: what stands from `start` to `end` is replaced. */
export interface Mutant {
  start: number;
  end: number;
  instead: string;
}

/** What an operator becomes. Biome writes spaces around them, so that type parameters are not meant. */
const SWAPPED: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
};
/** A statement of one line that is a call. */
const CALL = /^ {2,}(?:void |await )?(?:this\.)?#?[a-z][\w.#?!]*\([^\n]*\);$/gm;

/** Every condition turned round, every comparison and logical operator swapped, every call of one line left out. */
export function mutantsOf(source: string): Mutant[] {
  return [...conditions(source), ...operators(source), ...calls(source)].sort((a, b) => a.start - b.start);
}

function* conditions(source: string): Generator<Mutant> {
  const open: { start: number; isIf: boolean }[] = [];
  let before = '';
  for (const { value, start } of tokens(source)) {
    if (value === '(') open.push({ start, isIf: before === 'if' });
    if (value === ')') {
      const opened = open.pop();
      if (opened?.isIf) {
        const instead = `(!${source.slice(opened.start, start + 1)})`;
        yield { start: opened.start, end: start + 1, instead };
      }
    }
    before = value;
  }
}

function* operators(source: string): Generator<Mutant> {
  for (const { value, start } of tokens(source)) {
    const end = start + value.length;
    const instead = SWAPPED[value];
    if (instead === undefined || source[start - 1] !== ' ' || source[end] !== ' ') continue;
    if (value === '+' && /['"`]\s*$/.test(source.slice(0, start - 1))) continue;
    yield { start, end, instead };
  }
}

function* calls(source: string): Generator<Mutant> {
  for (const { 0: call, index } of source.matchAll(CALL)) {
    if (/\b(?:log|super)\b/.test(call)) continue;
    yield { start: index, end: index + call.length, instead: '' };
  }
}

function* tokens(source: string): Generator<{ value: string; start: number }> {
  let start = 0;
  for (const { type, value } of jsTokens(source)) {
    if (type === 'Punctuator' || type === 'IdentifierName') yield { value, start };
    start += value.length;
  }
}
