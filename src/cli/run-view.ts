import { isObject, parseJson } from '../base/json.ts';
import type { RunEvent } from '../protocol/events.ts';
import type { ToolCallItem } from '../protocol/items.ts';
import type { ResponseObject } from '../protocol/response.ts';
import { count, oneLine } from './printable.ts';

/** What a run is doing, as a reader of its events knows it. */
export class RunView {
  id: string | undefined;
  phase = 'waiting';
  toolCalls = 0;
  /** The response object of the terminal event. */
  final: ResponseObject | undefined;
  readonly #sources = new Set<string>();
  readonly #running = new Map<string, string>();

  get sources(): number {
    return this.#sources.size;
  }

  /** Takes an event in, and says in a line what a reader of plain output should know of it, if anything. */
  update(event: RunEvent): string | undefined {
    switch (event.type) {
      case 'response.created':
        this.id = event.response.id;
        return `run ${event.response.id} of ${event.response.model}`;
      case 'response.output_item.added':
        return this.#added(event.item);
      case 'response.reasoning_text.done':
        return event.text.trim() === '' ? undefined : `thought: ${oneLine(event.text)}`;
      case 'response.output_item.done':
        return event.item.type === 'tool_call' ? this.#toolDone(event.item) : undefined;
      case 'response.completed':
      case 'response.failed':
        this.final = event.response;
        this.phase = 'done';
        return undefined;
      default:
        return undefined;
    }
  }

  #added(item: Extract<RunEvent, { type: 'response.output_item.added' }>['item']): string | undefined {
    if (item.type === 'tool_call') {
      this.#running.set(item.id, item.name);
      this.phase = this.#toolPhase();
      return `${item.name}: ${subjectOf(item)}`;
    }
    this.phase = item.type === 'reasoning' ? 'thinking' : 'writing the answer';
    return item.type === 'message' ? 'writing the answer' : undefined;
  }

  #toolDone(item: ToolCallItem): string {
    this.#running.delete(item.id);
    this.toolCalls++;
    this.phase = this.#running.size > 0 ? this.#toolPhase() : 'thinking';
    const result = parseJson(item.result ?? '');
    for (const url of urlsIn(result)) this.#sources.add(url);
    return `${item.name}: ${outcomeOf(item, result)}`;
  }

  #toolPhase(): string {
    const names = [...this.#running.values()];
    const kinds = new Set(names);
    if (kinds.size > 1) return `running ${count(names.length, 'tool')}`;
    if (kinds.has('web_search')) return 'searching';
    if (kinds.has('fetch_url_content')) return `reading ${count(names.length, 'page')}`;
    return `running ${names[0] ?? 'tools'}`;
  }
}

function subjectOf(item: ToolCallItem): string {
  const args = parseJson(item.arguments);
  if (!isObject(args)) return oneLine(item.arguments);
  if (Array.isArray(args.queries)) return args.queries.map((query) => `“${oneLine(String(query))}”`).join(', ');
  return oneLine(typeof args.url === 'string' ? args.url : item.arguments);
}

function outcomeOf(item: ToolCallItem, result: unknown): string {
  if (isObject(result)) {
    if (isObject(result.error)) return `failed: ${oneLine(String(result.error.message))}`;
    if (Array.isArray(result.results)) return count(result.results.length, 'result');
    if (typeof result.title === 'string' && typeof result.content === 'string') {
      return `read “${oneLine(result.title)}”, ${count(result.content.length, 'character')}`;
    }
  }
  return item.status === 'failed' ? 'failed' : 'done';
}

function urlsIn(result: unknown): string[] {
  if (!isObject(result)) return [];
  const entries = Array.isArray(result.results) ? result.results : [result];
  return entries.flatMap((entry) => (isObject(entry) && typeof entry.url === 'string' ? [entry.url] : []));
}
