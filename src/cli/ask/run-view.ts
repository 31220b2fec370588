import { isObject, parseJson, scalarText } from '../../base/json.ts';
import { counted } from '../../base/text.ts';
import type { RunEvent } from '../../protocol/events.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import { oneLine } from '../printable.ts';
import { type CallView, callOf } from './tool-call.ts';

/** What a run is doing, derived from its events. */
export class RunView {
  id: string | undefined;
  phase = 'waiting';
  toolCalls = 0;
  /** The response object of the terminal event. */
  final: ResponseObject | undefined;
  readonly #sources = new Set<string>();
  readonly #running = new Map<string, string>();
  /** The lane of the last item; items of two lanes do not interleave. */
  #lane: number | undefined;

  get sources(): number {
    return this.#sources.size;
  }

  /** Takes in an event, and returns the line that plain output shows for it, if any. */
  update(event: RunEvent): string | undefined {
    if ('item' in event) this.#lane = 'lane' in event.item ? event.item.lane : undefined;
    const line = this.#lineOf(event);
    return line === undefined || this.#lane === undefined ? line : `lane ${this.#lane}: ${line}`;
  }

  #lineOf(event: RunEvent): string | undefined {
    switch (event.type) {
      case 'response.created':
        this.id = event.response.id;
        return `run ${event.response.id} of ${event.response.model}`;
      case 'response.output_item.added':
        return this.#added(event.item);
      case 'response.reasoning_text.done':
        return event.text.trim() === '' ? undefined : `thought: ${oneLine(event.text)}`;
      case 'response.output_item.done': {
        const call = callOf(event.item);
        return call && this.#toolDone(call);
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.final = event.response;
        this.phase = 'done';
        return undefined;
      default:
        return undefined;
    }
  }

  #added(item: Extract<RunEvent, { type: 'response.output_item.added' }>['item']): string | undefined {
    const call = callOf(item);
    if (call) {
      this.#running.set(call.id, call.name);
      this.phase = this.#toolPhase();
      return `${call.name}: ${subjectOf(call)}`;
    }
    this.phase = item.type === 'reasoning' ? 'thinking' : 'writing the answer';
    return item.type === 'message' ? 'writing the answer' : undefined;
  }

  #toolDone(item: CallView): string {
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
    if (kinds.size > 1) return `running ${counted(names.length, 'tool')}`;
    if (kinds.has('web_search')) return 'searching';
    if (kinds.has('fetch_url_content')) return `reading ${counted(names.length, 'page')}`;
    return `running ${names[0] ?? 'tools'}`;
  }
}

function subjectOf(item: CallView): string {
  const args = parseJson(item.arguments);
  if (!isObject(args)) return oneLine(item.arguments);
  if (Array.isArray(args.queries)) return args.queries.map((query) => `“${oneLine(scalarText(query))}”`).join(', ');
  if (typeof args.url === 'string') return oneLine(args.url);
  return item.arguments === '{}' ? '' : oneLine(item.arguments);
}

function outcomeOf(item: CallView, result: unknown): string {
  if (isObject(result)) {
    if (isObject(result.error)) return `failed: ${oneLine(String(result.error.message))}`;
    if (Array.isArray(result.results)) return counted(result.results.length, 'result');
    if (typeof result.title === 'string' && typeof result.content === 'string') {
      return `read “${oneLine(result.title)}”, ${counted(result.content.length, 'character')}`;
    }
  }
  return item.failed ? 'failed' : 'done';
}

function urlsIn(result: unknown): string[] {
  const found = isObject(result) && Array.isArray(result.results) ? result.results : [result];
  return found.flatMap((source) => (isObject(source) && typeof source.url === 'string' ? [source.url] : []));
}
