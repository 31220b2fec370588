import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { escapeMarkdown } from '../../base/markdown.ts';
import { toSingleLine } from '../../base/text.ts';
import type { ReasoningStep, SearchResult } from '../../protocol/chat.ts';
import type { OutputItem, ToolCallItem, UrlCitation } from '../../protocol/items.ts';
import { asToolCall } from '../../protocol/openai/as-tool-call.ts';
import { formatPlan, parsePlan, UPDATE_PLAN } from '../../protocol/plan.ts';
import { objectIn, searchQueries, textIn } from '../executing/log/call-items.ts';
import { textOfReasoning } from '../executing/log/reasoning-events.ts';

/** The reasoning and tool calls of a run as chat completions show them: reasoning steps, progress lines, search results. */

/** Length of a page's snippet, in UTF-16 code units. */
const MAX_SNIPPET = 300;
/** Length of a progress line, in UTF-16 code units. */
const MAX_LINE = 300;

type Call = Pick<ToolCallItem, 'name' | 'arguments' | 'result'>;

/** The reasoning step of an item; undefined for items that have none, such as messages. */
export function toReasoningStep(item: OutputItem, index: number): ReasoningStep | undefined {
  switch (item.type) {
    case 'reasoning':
      return { index, type: 'thinking', thought: textOfReasoning(item) };
    case 'tool_call':
      return toolStep(item, index);
    case 'web_search_call':
    case 'file_search_call':
    case 'code_interpreter_call':
    case 'mcp_call':
      return toolStep(asToolCall(item), index);
    case 'mcp_list_tools':
    case 'message':
      return undefined;
  }
}

function toolStep(item: Call, index: number): ReasoningStep {
  if (item.name === UPDATE_PLAN) return { index, type: 'thinking', thought: thoughtOfPlan(item) };
  const args = objectIn(item.arguments);
  const result = item.result ?? '';
  switch (item.name) {
    case 'web_search': {
      const search_results = resultsOf(item);
      return {
        index,
        type: 'web_search',
        web_search: { search_keywords: searchQueries(args).queries, search_results },
      };
    }
    case 'fetch_url_content': {
      const { title, content } = objectIn(result);
      return {
        index,
        type: 'fetch_url_content',
        fetch_url_content: { url: textIn(args.url), title: textIn(title), snippet: snippetOf(content) },
      };
    }
    case 'execute_python':
      return { index, type: 'execute_python', execute_python: { code: textIn(args.code), result } };
    default:
      return { index, type: 'tool_call', tool_call: { name: item.name, arguments: item.arguments, result } };
  }
}

/** A plan as text: chat completions have no plans, so it becomes a thought. */
function thoughtOfPlan({ arguments: args }: Call): string {
  const plan = parsePlan(args);
  return plan ? formatPlan(plan) : '';
}

/** A tool call as one line, for apps that show reasoning text, often as Markdown, but no steps. */
export function progressLine(item: ToolCallItem): string {
  const args = objectIn(item.arguments);
  switch (item.name) {
    case UPDATE_PLAN:
      return thoughtOfPlan(item)
        .split('\n')
        .map((each) => line('Plan', each))
        .join('\n');
    case 'web_search':
      return line('Searching', searchQueries(args).queries.join('; '));
    case 'fetch_url_content':
      return line('Reading', textIn(args.url));
    case 'execute_python':
      return 'Running Python';
    default:
      return line('Calling', item.name);
  }
}

/**
 * The results of the run's searches and the pages that it read, each URL once. OpenAI's items have the addresses alone:
 * there the citations of the answer tell title and number.
 */
export function searchResults(output: readonly OutputItem[], citations: readonly UrlCitation[] = []): SearchResult[] {
  const found = new Map<string, SearchResult>();
  for (const item of output) {
    for (const result of resultsIn(item)) if (result.url && !found.has(result.url)) found.set(result.url, result);
  }
  for (const { url, title, source_id } of citations) {
    const result = found.get(url);
    if (result && result.source_id === null) Object.assign(result, { title: result.title || title, source_id });
  }
  return [...found.values()];
}

function resultsIn(item: OutputItem): SearchResult[] {
  if (item.type === 'tool_call') return [...resultsOf(item), ...pageOf(item)];
  if (item.type !== 'web_search_call' || item.status === 'failed') return [];
  return item.action.type === 'open_page' ? [resultOf(item.action, '')] : resultsOf(asToolCall(item));
}

function resultsOf(item: Call): SearchResult[] {
  if (item.name !== 'web_search') return [];
  const { results } = objectIn(item.result ?? '');
  return Array.isArray(results) ? results.filter(isJsonObject).map((found) => resultOf(found, found.snippet)) : [];
}

function pageOf(item: ToolCallItem): SearchResult[] {
  if (item.name !== 'fetch_url_content' || item.status !== 'completed') return [];
  const page = objectIn(item.result ?? '');
  return typeof page.source_id === 'number' ? [resultOf(page, page.content)] : [];
}

function resultOf({ title, url, source_id }: JsonObject, text: unknown): SearchResult {
  return {
    title: textIn(title),
    url: textIn(url),
    snippet: snippetOf(text),
    source_id: typeof source_id === 'number' ? source_id : null,
  };
}

function snippetOf(text: unknown): string {
  return textIn(text).slice(0, MAX_SNIPPET).toWellFormed();
}

function line(what: string, about: string): string {
  const text = toSingleLine(about);
  return `${what}: ${escapeMarkdown(text.length > MAX_LINE ? `${text.slice(0, MAX_LINE).toWellFormed()}…` : text)}`;
}
