import type { JsonObject } from '../base/json.ts';
import { demoAnswer, list, restOf } from './answer.ts';
import { ASKS_TO_CONTINUE, type Conversation, type FoundDocument, readConversation } from './conversation.ts';
import { minimalInstance } from './minimal-instance.ts';
import { choosePassages, rankPassages, strongPassages } from './passages.ts';
import type { DemoMessage, DemoRequest, DemoTool } from './request.ts';
import { keywordsOf } from './words.ts';

/** What the demo model says in one turn. */
export interface DemoTurn {
  reasoning: string;
  text: string;
  calls: DemoCall[];
}

export interface DemoCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/** Pages read after the first search, and after the second. */
const FIRST_PAGES = 3;
const SECOND_PAGES = 2;
/** Fewer good passages than this are thin: the demo model searches once more. */
const ENOUGH_PASSAGES = 3;

/** The demo model: a pure function from a request to a turn. */
export function takeTurn(request: DemoRequest): DemoTurn {
  const tools = request.tool_choice === 'none' ? [] : (request.tools ?? []).map((tool) => tool.function);
  const turn = tools.length > 0 ? useTools(request, tools) : undefined;
  if (turn === undefined) return { reasoning: '', text: answer(request), calls: [] };
  return request.parallel_tool_calls === false ? { ...turn, calls: turn.calls.slice(0, 1) } : turn;
}

function answer(request: DemoRequest): string {
  const { messages, response_format: format } = request;
  const schema = format?.type === 'json_schema' ? (format.json_schema?.schema ?? {}) : undefined;
  const text = (of: readonly DemoMessage[]) => {
    const written = demoAnswer(readConversation(of));
    if (schema !== undefined) return JSON.stringify(minimalInstance(schema, { text: written }));
    return format?.type === 'json_object' ? JSON.stringify({ answer: written }) : written;
  };
  const cut = cutAnswer(messages, text);
  return cut === undefined ? text(messages) : restOf(text(cut.messages), cut.soFar);
}

/**
 * An answer that was cut and is to be continued: the messages end with it, or with it and a request to go on. A
 * whole answer followed by another user message is an ordinary conversation.
 */
function cutAnswer(
  messages: readonly DemoMessage[],
  write: (messages: readonly DemoMessage[]) => string,
): { messages: readonly DemoMessage[]; soFar: string } | undefined {
  const [secondLast, last] = messages.slice(-2);
  const cutAt = (index: number, soFar: string) => ({ messages: messages.slice(0, index), soFar });
  if (last?.role === 'assistant' && last.tool_calls.length === 0) return cutAt(-1, last.content);
  if (secondLast?.role !== 'assistant' || secondLast.tool_calls.length > 0 || last?.role !== 'user') return undefined;
  const cut = cutAt(-2, secondLast.content);
  if (cut.soFar === '' || cut.messages.length === 0) return undefined;
  const whole = write(cut.messages);
  const unfinished = whole.startsWith(cut.soFar) && whole !== cut.soFar;
  return unfinished || ASKS_TO_CONTINUE.test(last.content) ? cut : undefined;
}

/** A research turn, or a call that the request demands; undefined where the answer is due. */
function useTools(request: DemoRequest, tools: readonly DemoTool[]): DemoTurn | undefined {
  const conversation = readConversation(request.messages);
  const offered = new Set(tools.map((tool) => tool.name));
  if (offered.has('web_search') || offered.has('fetch_url_content')) return research(conversation, offered);
  const { tool_choice: choice } = request;
  if (conversation.toolResults > 0 || !choice || choice === 'auto') return undefined;
  const wanted = typeof choice === 'object' ? tools.find((tool) => tool.name === choice.function.name) : tools[0];
  if (wanted === undefined) return undefined;
  const args = minimalInstance(wanted.parameters ?? {}, { text: conversation.question });
  return { reasoning: '', text: '', calls: numbered(conversation, [{ name: wanted.name, args }]) };
}

function research(conversation: Conversation, offered: ReadonlySet<string>): DemoTurn {
  const keywords = keywordsOf(conversation.question);
  const passages = rankPassages(conversation.documents, keywords);
  const useful = choosePassages(strongPassages(passages, keywords), 6);
  if (conversation.rounds === 0) return firstRound(conversation, { keywords, offered });

  const unread = conversation.documents.filter(({ read, url }) => !read && !conversation.fetched.includes(url));
  if (offered.has('fetch_url_content') && conversation.justSearched && unread.length > 0) {
    return readPages(conversation, unread.slice(0, conversation.searches < 2 ? FIRST_PAGES : SECOND_PAGES));
  }
  const queries = otherQueries(keywords, conversation.queries);
  const thin = useful.length < ENOUGH_PASSAGES;
  if (thin && offered.has('web_search') && conversation.searches < 2 && queries.length > 0) {
    return {
      reasoning:
        `That is thin: ${count(useful.length, 'useful passage')} so far. ` +
        `I search once more with other words: ${queries.join('; ')}.`,
      text: '',
      calls: numbered(conversation, [{ name: 'web_search', args: { queries } }]),
    };
  }
  const sources = new Set(useful.map((passage) => passage.document));
  return {
    reasoning: `I have ${count(useful.length, 'useful passage')} from ${count(sources.size, 'document')}.`,
    text: 'I am ready to answer.',
    calls: [],
  };
}

function firstRound(
  conversation: Conversation,
  { keywords, offered }: { keywords: readonly string[]; offered: ReadonlySet<string> },
): DemoTurn {
  const wanted: { name: string; args: JsonObject }[] = [];
  if (offered.has('web_search') && keywords.length > 0) {
    wanted.push({ name: 'web_search', args: { queries: firstQueries(keywords) } });
  }
  if (offered.has('fetch_url_content')) {
    const named = conversation.question.match(/\b(?:https?|corpus):\/\/[^\s<>"')\]]+/g) ?? [];
    for (const url of [...new Set(named)].slice(0, FIRST_PAGES))
      wanted.push({ name: 'fetch_url_content', args: { url } });
  }
  if (wanted.length === 0) {
    return { reasoning: 'The question names nothing that I could look up.', text: 'I am ready to answer.', calls: [] };
  }
  return {
    reasoning: `The question is about ${list(keywords)}. I search the documents for these words first.`,
    text: '',
    calls: numbered(conversation, wanted),
  };
}

/** All key words together, and where there are many also the longest, which say most. */
function firstQueries(keywords: readonly string[]): string[] {
  const all = keywords.join(' ');
  if (keywords.length <= 3) return [all];
  const longest = keywords.toSorted((a, b) => b.length - a.length).slice(0, 2);
  return [all, keywords.filter((keyword) => longest.includes(keyword)).join(' ')];
}

/** Single key words that were not searched for alone. */
function otherQueries(keywords: readonly string[], asked: readonly string[]): string[] {
  return keywords
    .toSorted((a, b) => b.length - a.length)
    .filter((keyword) => !asked.includes(keyword))
    .slice(0, 3);
}

function readPages(conversation: Conversation, pages: readonly FoundDocument[]): DemoTurn {
  const titles = pages.map((page) => page.title);
  return {
    reasoning:
      `Documents found so far: ${conversation.documents.length}. ` +
      `I read ${list(titles)} in full${pages.length > 1 ? ', all at once' : ''}.`,
    text: '',
    calls: numbered(
      conversation,
      pages.map(({ url }) => ({ name: 'fetch_url_content', args: { url } })),
    ),
  };
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Ids that are unique in the conversation and the same whenever the turn is taken again. */
function numbered(conversation: Conversation, wanted: readonly { name: string; args: unknown }[]): DemoCall[] {
  return wanted.map(({ name, args }, index) => ({
    id: `call_demo_${conversation.rounds + 1}_${index + 1}`,
    name,
    arguments: JSON.stringify(args),
  }));
}
