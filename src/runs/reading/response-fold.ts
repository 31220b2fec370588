import type { RunId } from '../../base/ids.ts';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { UnnumberedEvent } from '../../protocol/events.ts';
import { eventsIn } from '../../protocol/frames.ts';
import type { MessagePart, TokenLogprob } from '../../protocol/items.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { LogBatch, RunStore } from '../../store/run-store.ts';
import { addText, applyEvent, type TextDelta } from '../projections/fold.ts';

/** Bytes of a log that are read at once. */
const READ_BYTES = 256 * 1024;
/** How long folding may hold the event loop, in milliseconds. */
const SLICE_MS = 3;

/** The response object of a run up to an event of its log, to be carried on as the log grows. */
export class ResponseFold {
  /** Sequence number of the last event that is in it. */
  last = 0;
  /** Bytes of the log that are in it. */
  bytes = 0;
  #response: ResponseObject | undefined;

  /** The response as it is now; later events do not change what was given. Undefined before the first event. */
  get response(): ResponseObject | undefined {
    if (!this.#response) return undefined;
    return { ...this.#response, output: this.#response.output.map(copyOf) };
  }

  /** Takes a log whose events come to this response without reading it. */
  begin(response: ResponseObject, batch: LogBatch): void {
    this.#response = { ...response, output: [...response.output] };
    this.last = batch.last;
    this.bytes += batch.frames.length;
  }

  /** Adds an event that the writer of the log made itself and still may hold. */
  add(event: UnnumberedEvent): void {
    this.#response = applyEvent(this.#response, isolated(event));
    this.last++;
  }

  /** Adds text to an item. */
  addText(outputIndex: number, text: { type: TextDelta; delta: string; logprobs?: readonly TokenLogprob[] }): void {
    if (this.#response) addText(this.#response, outputIndex, text);
    this.last++;
  }

  /**
   * Adds what is stored behind it, and shows it to `see`; the event loop is given back every few milliseconds.
   */
  async readOn(store: Pick<RunStore, 'read'>, id: RunId, see?: (batch: LogBatch) => void): Promise<void> {
    for (;;) {
      const batches = await store.read(id, { after: this.last, maxBytes: READ_BYTES });
      if (batches.length === 0) return;
      for (const batch of batches) {
        see?.(batch);
        await this.#addBatch(batch);
      }
    }
  }

  async #addBatch(batch: LogBatch): Promise<void> {
    let began = performance.now();
    for (const event of eventsIn(batch.frames)) {
      this.#response = applyEvent(this.#response, event);
      if (performance.now() - began < SLICE_MS) continue;
      await yieldToEventLoop();
      began = performance.now();
    }
    this.last = batch.last;
    this.bytes += batch.frames.length;
  }
}

/** Items that grow are copied, so that what was given does not grow with them. */
function copyOf(item: ResponseObject['output'][number]): ResponseObject['output'][number] {
  if (!('status' in item) || item.status !== 'in_progress') return item;
  if (item.type === 'reasoning') {
    const { content, summary } = item;
    return { ...item, content: content.map((part) => ({ ...part })), summary: summary.map((part) => ({ ...part })) };
  }
  if (item.type === 'message') return { ...item, content: item.content.map(copyOfPart) };
  return { ...item };
}

function copyOfPart(part: MessagePart): MessagePart {
  return part.type === 'refusal' ? { ...part } : { ...part, logprobs: [...part.logprobs] };
}

/** An event whose objects nobody else changes: those of an item that has just begun. */
function isolated(event: UnnumberedEvent): UnnumberedEvent {
  if ('response' in event) return { ...event, response: { ...event.response, output: [...event.response.output] } };
  if (event.type === 'response.output_item.added') return { ...event, item: copyOf(event.item) };
  if (event.type === 'response.content_part.added') {
    const { part } = event;
    return { ...event, part: part.type === 'reasoning_text' ? { ...part } : copyOfPart(part) };
  }
  if (event.type === 'response.reasoning_summary_part.added') return { ...event, part: { ...event.part } };
  return event;
}
