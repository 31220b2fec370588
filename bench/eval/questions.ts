import { seededRandom } from './random.ts';
import type { Kind, RelationName } from './relations.ts';
import type { World } from './world.ts';

/** A question whose answer is known, with the documents that are needed for it. */
export interface Question {
  text: string;
  answer: string;
  /** What the documents are about that the answer rests on. */
  needed: string[];
  /** Documents that have to be read one after another, each leading to the next. */
  hops: number;
}

/** What a question asks for: from each start along the relations; of two starts, the one with the earlier year. */
export interface Plan {
  starts: string[];
  relations: readonly RelationName[];
}

interface QuestionKind {
  of: Kind;
  relations: readonly RelationName[];
  /** `{s}` is the start; a kind with `{t}` compares two. */
  text: string;
}

const KINDS: readonly QuestionKind[] = [
  {
    of: 'product',
    relations: ['made_by', 'founded_by', 'born_in'],
    text: 'In which town was the founder of the firm that makes the {s} born?',
  },
  { of: 'company', relations: ['founded_by', 'taught_by'], text: 'Who taught the founder of {s}?' },
  { of: 'museum', relations: ['stands_in', 'river'], text: 'On which river does the town with the {s} lie?' },
  {
    of: 'product',
    relations: ['made_by', 'seat', 'mayor'],
    text: 'Who is the mayor of the town from which the maker of the {s} is run?',
  },
  { of: 'person', relations: ['born_in', 'city_year'], text: 'When did the birthplace of {s} receive its charter?' },
  {
    of: 'product',
    relations: ['made_by', 'founded_by', 'born_in', 'river'],
    text: 'Which river flows past the birthplace of the founder of the firm behind the {s}?',
  },
  { of: 'company', relations: ['company_year'], text: 'Which firm is older, {s} or {t}?' },
];

/** Questions about the world, each kind in turn. */
export function askQuestions(world: World, options: { seed: number; count: number }): Question[] {
  const random = seededRandom(options.seed + 2);
  const asked = new Set<string>();
  const questions: Question[] = [];
  for (let n = 0; questions.length < options.count && n < options.count * 20; n++) {
    const kind = KINDS[questions.length % KINDS.length];
    if (!kind) break;
    const starts = random.sample(
      world.entities.filter((entity) => entity.kind === kind.of).map((entity) => entity.name),
      kind.text.includes('{t}') ? 2 : 1,
    );
    const text = kind.text.replace('{s}', starts[0] ?? '').replace('{t}', starts[1] ?? '');
    const solved = solve(world, { starts, relations: kind.relations });
    if (asked.has(text) || !solved) continue;
    asked.add(text);
    questions.push({ text, ...solved, hops: kind.relations.length });
  }
  return questions;
}

/** The plan behind a question's words, or undefined where they are none of ours. */
export function planOf(text: string): Plan | undefined {
  for (const kind of KINDS) {
    const pattern = kind.text.replace(/[?.]/g, '\\$&').replace('{s}', '(?<s>.+?)').replace('{t}', '(?<t>.+?)');
    const groups = new RegExp(pattern, 'u').exec(text)?.groups;
    if (groups?.s)
      return { starts: [groups.s, groups.t].filter((name) => name !== undefined), relations: kind.relations };
  }
  return undefined;
}

function solve(world: World, plan: Plan): { answer: string; needed: string[] } | undefined {
  const needed: string[] = [];
  const ends = plan.starts.map((start) => {
    let subject = start;
    for (const relation of plan.relations) {
      needed.push(subject);
      subject = world.byName.get(subject)?.facts[relation] ?? '';
    }
    return subject;
  });
  if (ends.includes('') || new Set(needed).size < needed.length) return undefined;
  const [first = '', second] = ends;
  if (second === undefined) return { answer: first, needed };
  const older = Number(first) < Number(second) ? plan.starts[0] : plan.starts[1];
  return first === second || older === undefined ? undefined : { answer: older, needed };
}
