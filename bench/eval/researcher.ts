import { type Plan, planOf } from './questions.ts';
import { RELATIONS, type RelationName, readRelation, sayAbout } from './relations.ts';

/**
 * The scripted researcher: a pure function from what it was sent to what it says next. It knows the words of the
 * questions and of the facts, and nothing of the world: whatever it answers it has searched for and read.
 */

/** A message as a provider gets it. */
export interface SentMessage {
  role: string;
  content?: unknown;
  tool_calls?: { function: { name: string; arguments: string } }[];
}

export interface ResearcherTurn {
  text: string;
  calls: { name: string; arguments: object }[];
}

/** A document as far as it was seen. */
interface Seen {
  title: string;
  url: string;
  sourceId: number;
  text: string;
  read: boolean;
}

interface Step {
  subject: string;
  relation: RelationName;
  object: string;
  sourceId: number;
}

interface Missing {
  subject: string;
  relation: RelationName;
}

/** Pages fetched where no title is the one that is looked for. */
const GUESSES = 2;

/** What the researcher says next; without `tools` the answer is due. */
export function takeTurn(messages: readonly SentMessage[], options: { tools: boolean }): ResearcherTurn {
  const plan = messages.map((message) => planOf(textOf(message))).findLast((found) => found !== undefined);
  if (!plan) return { text: 'I cannot make out the question.', calls: [] };
  const seen = seenIn(messages);
  const trails = plan.starts.map((start) => followTrail(start, plan.relations, seen));
  if (!options.tools) return { text: answer(plan, trails), calls: [] };
  const missing = trails.flatMap((trail) => (trail.missing ? [trail.missing] : []));
  const made = madeCalls(messages);
  const next = missing.map((each) => nextCalls(each, { seen, made }));
  const calls = next.flat();
  if (calls.length === 0) return { text: missing.length > 0 ? 'I find no more.' : 'I have what I need.', calls };
  const subjects = missing.filter((_, index) => (next[index]?.length ?? 0) > 0).map((each) => each.subject);
  return { text: `I look further into ${subjects.join(' and ')}.`, calls };
}

function followTrail(
  start: string,
  relations: readonly RelationName[],
  seen: ReadonlyMap<string, Seen>,
): { steps: Step[]; missing?: Missing } {
  const steps: Step[] = [];
  let subject = start;
  for (const relation of relations) {
    const step = findStep({ subject, relation }, seen);
    if (!step) return { steps, missing: { subject, relation } };
    steps.push(step);
    subject = step.object;
  }
  return { steps };
}

/** Snippets are pointers: only what was read counts, as the system prompt asks. */
function findStep(wanted: Missing, seen: ReadonlyMap<string, Seen>): Step | undefined {
  for (const { title, text, sourceId, read } of seen.values()) {
    if (!read) continue;
    const object = readRelation(text, { ...wanted, about: isAbout({ title, text }, wanted.subject) });
    if (object !== undefined) return { ...wanted, object, sourceId };
  }
  return undefined;
}

function isAbout({ title, text }: Pick<Seen, 'title' | 'text'>, subject: string): boolean {
  return title === subject || text.includes(sayAbout(subject));
}

function nextCalls(
  { subject, relation }: Missing,
  known: { seen: ReadonlyMap<string, Seen>; made: { queries: ReadonlySet<string>; fetched: ReadonlySet<string> } },
): ResearcherTurn['calls'] {
  const { queries, fetched } = known.made;
  const fetchCall = ({ url }: Seen) => ({ name: 'fetch_url_content', arguments: { url } });
  const unread = [...known.seen.values()].filter((each) => !each.read && !fetched.has(each.url));
  const titled = unread.filter((each) => isAbout(each, subject));
  if (titled.length > 0) return titled.map(fetchCall);
  const wanted = [`${subject} ${RELATIONS[relation].query}`, subject].find((query) => !queries.has(query));
  const near = unread.filter((each) => each.title.includes(subject) || each.text.includes(subject)).slice(0, GUESSES);
  const searched = [...queries].some((query) => query.startsWith(subject));
  if (searched && near.length > 0) return near.map(fetchCall);
  return wanted === undefined ? [] : [{ name: 'web_search', arguments: { queries: [wanted] } }];
}

function answer(plan: Plan, trails: readonly { steps: Step[]; missing?: Missing }[]): string {
  const told = trails
    .flatMap((trail) => trail.steps)
    .map(
      ({ subject, relation, object, sourceId }) => `${subject}: ${relation.replace('_', ' ')} ${object} [${sourceId}].`,
    );
  if (trails.some((trail) => trail.missing)) return [...told, 'Answer: not found'].join('\n');
  const ends = trails.map((trail) => trail.steps.at(-1)?.object ?? '');
  const [first = '', second] = ends;
  const found = second === undefined ? first : plan.starts[Number(first) < Number(second) ? 0 : 1];
  return [...told, `Answer: ${found}`].join('\n');
}

/** Every document in the tool results, by URL: whole ones, hits, and the short form of older results. */
function seenIn(messages: readonly SentMessage[]): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    for (const found of documentsIn(textOf(message))) {
      const key = found.url || found.title;
      if (found.read || !seen.get(key)?.read) seen.set(key, found);
    }
  }
  return seen;
}

function documentsIn(content: string): Seen[] {
  const inner = content.replace(/^<tool_result[-\w]*>\s*|\s*<\/tool_result[-\w]*>$/g, '');
  const parsed = parse(inner);
  if (parsed === undefined) {
    return [...inner.matchAll(/^\[(\d+)\] ([^:\n]+): (.*)$/gm)].map(([, id, title = '', text = '']) => ({
      title,
      url: '',
      sourceId: Number(id),
      text,
      read: true,
    }));
  }
  const entries = Array.isArray(parsed.results) ? parsed.results : [parsed];
  return entries.flatMap((entry): Seen[] => {
    const { title, url, source_id: sourceId, content: whole, snippet } = entry;
    if (typeof url !== 'string' || typeof sourceId !== 'number') return [];
    const text = typeof whole === 'string' ? whole : String(snippet ?? '');
    return [{ title: String(title), url, sourceId, text, read: typeof whole === 'string' }];
  });
}

function parse(text: string): { results?: Record<string, unknown>[]; [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function madeCalls(messages: readonly SentMessage[]) {
  const queries = new Set<string>();
  const fetched = new Set<string>();
  for (const call of messages.flatMap((message) => message.tool_calls ?? [])) {
    const args = parse(call.function.arguments);
    if (call.function.name === 'web_search' && Array.isArray(args?.queries))
      for (const query of args.queries) queries.add(String(query));
    if (call.function.name === 'fetch_url_content') fetched.add(String(args?.url));
  }
  return { queries, fetched };
}

function textOf(message: SentMessage): string {
  return typeof message.content === 'string' ? message.content : '';
}
