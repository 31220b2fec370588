import type { RunId } from '../../base/ids.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import type { UnnumberedEvent } from '../../protocol/events.ts';
import { iterateEvents } from '../../protocol/frames.ts';
import type { MessagePart, TokenLogprob } from '../../protocol/items.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { LogBatch, RunStore } from '../../store/run-store.ts';
import { addText, applyEvent, type TextDelta } from '../projections/fold.ts';

/** Bytes of a log that are read at once. */
const READ_BYTES = 256 * 1024;

/** The response object of a run up to some event of its log; it can be caught up as the log grows. */
export class ResponseFold {
  /** Sequence number of the last event folded in. */
  last = 0;
  /** Bytes of log folded in. */
  bytes = 0;
  #response: ResponseObject | undefined;

  /** A snapshot of the response, which later events do not change. Undefined before the first event. */
  get response(): ResponseObject | undefined {
    if (!this.#response) return undefined;
    return { ...this.#response, output: this.#response.output.map(copyOf) };
  }

  /** Starts from a log whose response is known already, without decoding it. */
  begin(response: ResponseObject, batch: LogBatch): void {
    this.#response = { ...response, output: [...response.output] };
    this.last = batch.last;
    this.bytes += batch.frames.length;
  }

  /** Adds an event that the log writer created, and whose objects it may still hold. */
  add(event: UnnumberedEvent): void {
    this.#response = applyEvent(this.#response, isolated(event));
    this.last++;
  }

  addText(outputIndex: number, text: { type: TextDelta; delta: string; logprobs?: readonly TokenLogprob[] }): void {
    if (this.#response) addText(this.#response, outputIndex, text);
    this.last++;
  }

  /** Adds what has been stored since, and hands each batch to `onBatch`. Yields to the event loop every few milliseconds. */
  async catchUp(store: Pick<RunStore, 'read'>, id: RunId, onBatch?: (batch: LogBatch) => void): Promise<void> {
    for (;;) {
      const batches = await store.read(id, { after: this.last, maxBytes: READ_BYTES });
      if (batches.length === 0) return;
      for (const batch of batches) {
        onBatch?.(batch);
        await this.#addBatch(batch);
      }
    }
  }

  async #addBatch(batch: LogBatch): Promise<void> {
    await inSlices(iterateEvents(batch.frames), (event) => {
      this.#response = applyEvent(this.#response, event);
    });
    this.last = batch.last;
    this.bytes += batch.frames.length;
  }
}

/** Copies an item that still grows, so that a snapshot does not grow with it. */
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

/** The event with its own copies of objects that later events change: those of an item that has just begun. */
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
