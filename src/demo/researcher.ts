import type { JsonValue } from '../base/json.ts';
import { counted } from '../base/text.ts';
import { demoAnswer, list } from './answer.ts';
import { type Conversation, type FoundDocument, PLAN_ITEM, readChat } from './conversation.ts';
import { minimalInstance } from './minimal-instance.ts';
import { choosePassages, rankPassages } from './passages.ts';
import type { DemoRequest, DemoTool } from './request.ts';
import { keywordsOf } from './words.ts';

/** The output of the demo model in one turn. */
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

/** How many pages are read after the first search, and after the second. */
const FIRST_PAGES = 3;
const SECOND_PAGES = 2;
/** With fewer good passages the demo model searches once more. */
const ENOUGH_PASSAGES = 3;

/** The demo model: a pure function from a request to a turn. */
export function takeTurn(request: DemoRequest): DemoTurn {
  const tools = request.tool_choice === 'none' ? [] : (request.tools ?? []).map((tool) => tool.function);
  const turn = tools.length > 0 ? useTools(request, tools) : undefined;
  if (turn === undefined) return { reasoning: '', text: answer(request), calls: [] };
  return request.parallel_tool_calls === false ? { ...turn, calls: turn.calls.slice(0, 1) } : turn;
}

function answer({ messages, response_format: format }: DemoRequest): string {
  const written = demoAnswer(readChat(messages));
  if (format?.type === 'json_schema') return JSON.stringify(minimalInstance(format.json_schema?.schema ?? {}, written));
  return format?.type === 'json_object' ? JSON.stringify({ answer: written }) : written;
}

/** A research turn, or a call that the request demands; undefined if it is time for the answer. */
function useTools(request: DemoRequest, tools: readonly DemoTool[]): DemoTurn | undefined {
  const conversation = readChat(request.messages);
  const offered = new Set(tools.map((tool) => tool.name));
  if (offered.has('web_search') || offered.has('fetch_url_content')) return research(conversation, offered);
  if (offered.size === 1 && offered.has('update_plan')) return propose(conversation);
  const { tool_choice: choice } = request;
  if (conversation.toolResults > 0 || !choice || choice === 'auto') return undefined;
  const wanted = typeof choice === 'object' ? tools.find((tool) => tool.name === choice.function.name) : tools[0];
  if (wanted === undefined) return undefined;
  const args = minimalInstance(wanted.parameters ?? {}, conversation.question);
  return calling(conversation, '', [{ name: wanted.name, args }]);
}

function research(conversation: Conversation, offered: ReadonlySet<string>): DemoTurn {
  const keywords = keywordsOf(conversation.question);
  if (conversation.rounds === 0 && conversation.documents.length === 0)
    return firstRound(conversation, { keywords, offered });
  const strong = rankPassages(conversation.documents, keywords).filter(
    ({ matches }) => matches >= Math.min(2, keywords.length),
  );
  const useful = choosePassages(strong, 6);
  const unread = conversation.documents.filter(({ read, url }) => !read && !conversation.fetched.includes(url));
  if (offered.has('fetch_url_content') && conversation.justSearched && unread.length > 0) {
    return readPages(conversation, unread.slice(0, conversation.searches < 2 ? FIRST_PAGES : SECOND_PAGES));
  }
  const queries = otherQueries(keywords, conversation.queries);
  const isThin = useful.length < ENOUGH_PASSAGES;
  if (isThin && offered.has('web_search') && conversation.searches < 2 && queries.length > 0) {
    const reasoning =
      `That is thin: ${counted(useful.length, 'useful passage')} so far. ` +
      `I search once more with other words: ${queries.join('; ')}.`;
    return calling(conversation, reasoning, [{ name: 'web_search', args: { queries } }]);
  }
  const sources = new Set(useful.map((passage) => passage.document));
  return ready(`I have ${counted(useful.length, 'useful passage')} from ${counted(sources.size, 'document')}.`);
}

/** A plan to be approved: an item for each keyword. */
function propose(conversation: Conversation): DemoTurn {
  if (conversation.rounds > 0) return ready('The plan is proposed.');
  const subjects = keywordsOf(conversation.question);
  const items = (subjects.length > 0 ? subjects : ['this']).map((word) => ({
    text: `${PLAN_ITEM} ${word}`,
    status: 'open',
  }));
  return calling(conversation, 'I propose to look up one thing after the other.', [
    { name: 'update_plan', args: { items } },
  ]);
}

function firstRound(
  conversation: Conversation,
  { keywords, offered }: { keywords: readonly string[]; offered: ReadonlySet<string> },
): DemoTurn {
  const searched = offered.has('web_search') && keywords.length > 0;
  const named = conversation.question.match(/\b(?:https?|corpus):\/\/[^\s<>"')\]]+/g) ?? [];
  const pages = offered.has('fetch_url_content') ? [...new Set(named)].slice(0, FIRST_PAGES) : [];
  const wanted = [
    ...(searched ? [{ name: 'web_search', args: { queries: firstQueries(keywords) } }] : []),
    ...pages.map((url) => ({ name: 'fetch_url_content', args: { url } })),
  ];
  if (wanted.length === 0) return ready('The question names nothing that I could look up.');
  const reasoning = `The question is about ${list(keywords)}. I search the documents for these words first.`;
  return calling(conversation, reasoning, wanted);
}

/** All keywords together; if there are many, also the longest ones, which are the most specific. */
function firstQueries(keywords: readonly string[]): string[] {
  const all = keywords.join(' ');
  const longest = longestFirst(keywords).slice(0, 2);
  return keywords.length <= 3 ? [all] : [all, keywords.filter((keyword) => longest.includes(keyword)).join(' ')];
}

/** Single keywords that were not searched for on their own. */
function otherQueries(keywords: readonly string[], asked: readonly string[]): string[] {
  return longestFirst(keywords)
    .filter((keyword) => !asked.includes(keyword))
    .slice(0, 3);
}

function longestFirst(keywords: readonly string[]): string[] {
  return keywords.toSorted((a, b) => b.length - a.length);
}

function readPages(conversation: Conversation, pages: readonly FoundDocument[]): DemoTurn {
  const reasoning =
    `Documents found so far: ${conversation.documents.length}. ` +
    `I read ${list(pages.map(({ title }) => title))} in full${pages.length > 1 ? ', all at once' : ''}.`;
  const wanted = pages.map(({ url }) => ({ name: 'fetch_url_content', args: { url } }));
  return calling(conversation, reasoning, wanted);
}

function ready(reasoning: string): DemoTurn {
  return { reasoning, text: 'I am ready to answer.', calls: [] };
}

/** A turn with calls. Their ids are unique in the conversation, and the same if the turn is repeated. */
function calling(
  { rounds }: Conversation,
  reasoning: string,
  wanted: readonly { name: string; args: JsonValue }[],
): DemoTurn {
  const calls = wanted.map(({ name, args }, index) => {
    return { id: `call_demo_${rounds + 1}_${index + 1}`, name, arguments: JSON.stringify(args) };
  });
  return { reasoning, text: '', calls };
}
