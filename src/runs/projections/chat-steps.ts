import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { escapeMarkdown } from '../../base/markdown.ts';
import { toSingleLine } from '../../base/text.ts';
import type { ReasoningStep, SearchResult } from '../../protocol/chat.ts';
import type { OutputItem, ToolCallItem } from '../../protocol/items.ts';
import type { OpenAiCall } from '../../protocol/openai-items.ts';
import { formatPlan, parsePlan, UPDATE_PLAN } from '../../protocol/plan.ts';
import { objectIn, searchQueries, textIn } from '../executing/log/call-items.ts';
import { textOfReasoning } from '../executing/log/reasoning-events.ts';

/** The reasoning and tool calls of a run as chat completions show them: reasoning steps, progress lines, search results. */

/** Length of a page's snippet, in UTF-16 code units. */
const MAX_SNIPPET = 300;
/** Length of a progress line, in UTF-16 code units. */
const MAX_LINE = 300;

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
      return openAiStep(item, index);
    case 'mcp_list_tools':
    case 'message':
      return undefined;
  }
}

/** The step of a call that the log holds as an OpenAI item, with what that item tells. */
function openAiStep(item: OpenAiCall, index: number): ReasoningStep {
  switch (item.type) {
    case 'web_search_call': {
      const { action } = item;
      if (action.type === 'open_page')
        return { index, type: 'fetch_url_content', fetch_url_content: { url: action.url, title: '', snippet: '' } };
      const search_results = action.sources.map(({ url }) => ({ title: '', url, snippet: '', source_id: null }));
      return { index, type: 'web_search', web_search: { search_keywords: action.queries, search_results } };
    }
    case 'file_search_call': {
      const call = {
        name: 'file_search',
        arguments: JSON.stringify({ queries: item.queries }),
        result: JSON.stringify({ results: item.results ?? [] }),
      };
      return { index, type: 'tool_call', tool_call: call };
    }
    case 'code_interpreter_call': {
      const result = item.outputs.map(({ logs }) => logs).join('\n');
      return { index, type: 'execute_python', execute_python: { code: item.code, result } };
    }
    case 'mcp_call': {
      const { server_label, name, arguments: args, output, error } = item;
      const failure = typeof error === 'string' ? error : error?.content.map(({ text }) => text).join('\n');
      const call = { name: `${server_label}.${name}`, arguments: args, result: output ?? failure ?? '' };
      return { index, type: 'tool_call', tool_call: call };
    }
  }
}

function toolStep(item: ToolCallItem, index: number): ReasoningStep {
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
function thoughtOfPlan({ arguments: args }: ToolCallItem): string {
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

/** The results of the run's searches and the pages that it read, each URL once. */
export function searchResults(output: readonly OutputItem[]): SearchResult[] {
  const found = new Map<string, SearchResult>();
  for (const item of output) {
    for (const result of resultsIn(item)) if (result.url && !found.has(result.url)) found.set(result.url, result);
  }
  return [...found.values()];
}

function resultsIn(item: OutputItem): SearchResult[] {
  if (item.type === 'tool_call') return [...resultsOf(item), ...pageOf(item)];
  if (item.type !== 'web_search_call' || item.action.type !== 'search') return [];
  return item.action.sources.map(({ url }) => ({ title: '', url, snippet: '', source_id: null }));
}

function resultsOf(item: ToolCallItem): SearchResult[] {
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
