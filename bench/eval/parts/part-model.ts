import type { ResearcherTurn, SentMessage } from '../researcher.ts';
import { askedIn, factIn } from './facts.ts';
import { ORDER } from './part-pages.ts';

/**
 * The scripted model of the parts. It searches for the question, reads what is about its subject, looks into long pages
 * with `find`, believes the later of two sources and cites everything that it met, dead pages too. It obeys whoever
 * speaks to it outside of the marks around tool results, and it repeats pictures: what it does wrong, the gateway let
 * through.
 */
export function takePartTurn(messages: readonly SentMessage[], options: { tools: boolean }): ResearcherTurn {
  const asked = messages
    .map(textOf)
    .flatMap((text) => askedIn(text) ?? [])
    .at(-1);
  if (!asked) return { text: 'I cannot make out the question.', calls: [] };
  if (messages.some(isOrdered)) return obey(options);
  const results = messages.filter(({ role }) => role === 'tool').flatMap((message) => resultsIn(textOf(message)));
  const read = results.filter(({ content }) => content !== undefined);
  const facts = read
    .flatMap((page) => ({ ...page, metres: factIn(page.content ?? '', asked) }))
    .filter(({ metres }) => metres !== undefined)
    .sort((a, b) => (b.published ?? '').localeCompare(a.published ?? ''));
  if (!options.tools) {
    const [best] = facts;
    const lines = facts.map(({ metres, id }) => `${asked.subject}: ${metres} metres [${id}].`);
    const dead = results.filter(({ url }) => !read.some((page) => page.url === url)).map(({ id }) => `[${id}]`);
    if (dead.length > 0) lines.push(`Not to be read: ${[...new Set(dead)].join(' ')}.`);
    const pictures = read.flatMap(({ content }) => content?.match(/!\[[^\]]*\]\([^)]*\)/g) ?? []);
    return { text: [...lines, ...pictures, `Answer: ${best?.metres ?? 'not found'}`].join('\n'), calls: [] };
  }
  const made = new Set(messages.flatMap(({ tool_calls }) => tool_calls ?? []).map((call) => call.function.arguments));
  const next = nextCalls({ results, isFound: (url) => facts.some((fact) => fact.url === url), asked, messages });
  const calls = next.filter((call) => !made.has(JSON.stringify(call.arguments)));
  return { text: calls.length > 0 ? 'I look further.' : 'I have what I need.', calls };
}

interface Met {
  url: string;
  id: number;
  title: string;
  content?: string;
  published?: string;
  truncated?: boolean;
}

function nextCalls(about: {
  results: readonly Met[];
  isFound: (url: string) => boolean;
  asked: NonNullable<ReturnType<typeof askedIn>>;
  messages: readonly SentMessage[];
}): ResearcherTurn['calls'] {
  const { results, isFound, asked } = about;
  const { language, subject } = asked;
  const question = language.question(subject);
  if (!about.messages.some(({ tool_calls }) => tool_calls)) {
    return [{ name: 'web_search', arguments: { queries: [question] } }];
  }
  const urls = new Set(results.filter(({ title }) => title === subject).map(({ url }) => url));
  const fetches = [...urls].slice(0, 4).map((url) => ({ url, goal: question }));
  const finds = results
    .filter(({ url, truncated }) => truncated && !isFound(url))
    .map(({ url }) => ({ url, find: language.find(subject) }));
  return [...fetches, ...finds].map((args) => ({ name: 'fetch_url_content', arguments: args }));
}

/** Whether somebody gives the order from where only the gateway and the user should speak. */
function isOrdered(message: SentMessage): boolean {
  const text = textOf(message);
  if (message.role === 'assistant' || !text.includes(ORDER)) return false;
  if (/(?:<\|im_start\|>|<\|start_header_id\|>|\[INST\]|<<SYS>>|<｜Assistant｜>|<tool_call>)/.test(text)) return true;
  return text.replace(/<(tool_result[-\w]*)[^>]*>[\s\S]*?<\/\1>/g, '').includes(ORDER);
}

function obey({ tools }: { tools: boolean }): ResearcherTurn {
  if (!tools) return { text: `Answer: ${ORDER}`, calls: [] };
  return { text: ORDER, calls: [] };
}

function resultsIn(message: string): Met[] {
  const parsed = parse(message.replace(/^<tool_result[-\w]*>\s*|\s*<\/tool_result[-\w]*>$/g, ''));
  const entries: unknown[] = Array.isArray(parsed.results) ? parsed.results : [parsed];
  return entries.flatMap((entry): Met[] => {
    const { url, source_id: id, title, content, published, truncated }: Record<string, unknown> = { ...Object(entry) };
    if (typeof url !== 'string' || typeof id !== 'number') return [];
    return [
      {
        url,
        id,
        title: String(title),
        ...(typeof content === 'string' ? { content } : {}),
        ...(typeof published === 'string' ? { published } : {}),
        ...(truncated === true ? { truncated } : {}),
      },
    ];
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return { ...Object(JSON.parse(text)) };
  } catch {
    return {};
  }
}

function textOf({ content }: SentMessage): string {
  return typeof content === 'string' ? content : '';
}
