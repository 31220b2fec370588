import type { ErrorObject } from '../../../base/errors.ts';
import { itemId, type RunId } from '../../../base/ids.ts';
import type { Profile } from '../../../config/schema.ts';
import {
  answerPart,
  logprobSize,
  type MessagePhase,
  type OutputItem,
  type ReasoningItem,
  type TokenLogprob,
  type UrlCitation,
} from '../../../protocol/items.ts';
import { UPDATE_PLAN } from '../../../protocol/plan.ts';
import { ASK_USER } from '../../../research/run/own-tools.ts';
import { isProgress, type ListedServer, type StartedCall, type Step } from '../../../research/run/steps.ts';
import {
  asOpenAi,
  beginCall,
  type CallItem,
  callIndexes,
  endCall,
  isCallItem,
  laneCallItems,
  listedTools,
} from './call-items.ts';
import { clientCallItems } from './client-calls.ts';
import { imageItem } from './image-items.ts';
import type { LogItem, Position } from './log-item.ts';
import type { LogWriter } from './log-writer.ts';
import { closeMessage, fittingLogprobs, type OpenMessage, openMessage, reopenMessage } from './message-events.ts';
import {
  closeReasoning,
  compactionLogItem,
  hiddenReasoningLogItem,
  openParts,
  REASONING_DELTAS,
  type ReasoningStyle,
  textOfReasoning,
} from './reasoning-events.ts';

export interface RecorderOptions {
  runId: RunId;
  writer: LogWriter;
  output: readonly OutputItem[];
  /** Whose item types and events the log uses; the gateway's own if undefined. */
  profile: Profile | undefined;
  reasoningStyle: ReasoningStyle;
  /** Keeps reasoning open until its turn is complete: only then does the provider send what it wants back. */
  encryptsReasoning: boolean;
  calls: ReadonlyMap<number, { name: string; client?: true; asks?: true; lane?: number | undefined }>;
  /** How many of the calls belong to earlier responses. */
  earlierCalls: number;
  /** Those among the earlier calls that this response makes before all others, because they were approved. */
  approvedCalls: readonly number[];
}

/** How much reasoning a run records, in UTF-16 code units: a model that reasons without end would fill the log. */
const MAX_REASONING = 4 * 1024 * 1024;
/** How much logprobs of a run may take, in characters: the log repeats them several times. */
const MAX_LOGPROBS = 4 * 1024 * 1024;
const TRUNCATION_NOTE = '\n\n(Further thoughts are left out.)';

/**
 * Turns the steps of a run into events (docs/api.md, "Events") and tracks the output as it grows. Items that a crash
 * left open come in with `output`; an open message is continued in place.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #writer: LogWriter;
  readonly #output: OutputItem[];
  /** The output index of each tool call, by its number in the run. */
  readonly #callIndexes: number[];
  /** Calls that have no item. */
  readonly #hidden = new Set<number>();
  /** Length of all reasoning so far, in UTF-16 code units. */
  #reasoningLength = 0;
  #reasoning: { index: number; item: ReasoningItem; text: string } | undefined;
  /** Length of all logprobs so far, in characters. */
  #logprobsLength = 0;
  #message: OpenMessage | undefined;

  constructor(options: RecorderOptions) {
    const { earlierCalls: earlier, approvedCalls: approved } = options;
    this.#options = options;
    this.#writer = options.writer;
    this.#output = [...options.output];
    // Calls of lanes are recorded only when done, so no result follows for them.
    for (const [number, call] of options.calls)
      if (call.lane !== undefined || this.#isHidden(call)) this.#hidden.add(number);
    for (const call of approved) this.#hidden.delete(call);
    this.#callIndexes = callIndexes(this.#output, { hidden: this.#hidden, earlier, approved });
    this.#output.forEach((item, index) => {
      if (item.type === 'reasoning') this.#reasoningLength += textOfReasoning(item).length;
      if (item.type === 'reasoning' && item.status === 'in_progress') {
        this.#reasoning = { index, item, text: textOfReasoning(item) };
      }
      if (item.type === 'message' && item.status === 'in_progress') {
        this.#message = reopenMessage(item, index);
      }
      if (item.type === 'message') this.#logprobsLength += logprobSize(answerPart(item)?.logprobs ?? []);
    });
  }

  /** Calls without an item here: a question to the user becomes the answer, and OpenAI has no item for a plan. */
  #isHidden({ name, client, asks }: { name: string; client?: true; asks?: true }): boolean {
    return client || asks || name === ASK_USER || (this.#options.profile !== undefined && name === UPDATE_PLAN);
  }

  /** Saves the current items; the returned function restores them if the store refuses later events. */
  checkpoint(): () => void {
    const output = [...this.#output];
    const reasoning = this.#reasoning;
    const message = this.#message;
    const reasoningLength = this.#reasoningLength;
    const logprobsLength = this.#logprobsLength;
    return () => {
      this.#reasoningLength = reasoningLength;
      this.#logprobsLength = logprobsLength;
      this.#output.splice(0, this.#output.length, ...output);
      this.#reasoning = reasoning;
      this.#message = message;
    };
  }

  /** The answer so far, as readers have it; `text` is '' if it has not begun. */
  get answer(): { text: string; annotations: readonly UrlCitation[]; phase: MessagePhase | undefined } {
    const { text = '', annotations = [], item } = this.#message ?? {};
    return { text, annotations, phase: item?.phase };
  }

  record(step: Step): void {
    switch (step.type) {
      case 'reasoning':
        this.#addReasoning(step.delta);
        break;
      case 'reasoning_end':
        this.#endThought(step);
        this.#addImages(step);
        break;
      case 'tool_calls':
        this.#endTurn(step);
        for (const started of step.calls) this.#startCall(started);
        break;
      case 'function_calls':
        this.#endTurn(step);
        for (const recorded of clientCallItems(step.calls, this.#next)) this.#emit(recorded);
        break;
      case 'lane_turn':
        this.#emitLaneTurn(step);
        break;
      case 'tool_result':
        this.#endCall(step);
        break;
      case 'answer':
        this.#addAnswer(step);
        break;
      case 'mcp_servers':
        this.#listServers(step.servers);
        break;
      case 'compaction':
        this.#emit(compactionLogItem(step.encrypted, this.#next));
        break;
      case 'note':
        break;
      default:
        step satisfies never;
    }
    if ('entry' in step && step.entry) this.#writer.pushTranscript(step.entry, { progress: isProgress(step) });
  }

  /** Closes the open reasoning item, if any. */
  endReasoning(status: 'completed' | 'incomplete', encrypted?: string): void {
    if (!this.#reasoning) return;
    this.#emit(closeReasoning(this.#options.reasoningStyle, { ...this.#reasoning, status, encrypted }));
    this.#reasoning = undefined;
  }

  /** Closes the open message, if any. */
  endMessage(status: 'completed' | 'incomplete'): void {
    if (!this.#message) return;
    this.#emit(closeMessage(this.#message, status));
    this.#message = undefined;
  }

  /** Closes whatever is open in a run that failed or was cancelled (docs/api.md, "Events"). */
  closeOpenItems(error: ErrorObject): void {
    this.endReasoning('incomplete');
    const result = JSON.stringify({ error: { message: error.message, code: error.code } });
    this.#output.forEach((item, index) => {
      if (isCallItem(item) && item.status === 'in_progress') this.#closeCall(index, item, { status: 'failed', result });
    });
    this.endMessage('incomplete');
  }

  get output(): OutputItem[] {
    return [...this.#output];
  }

  #addReasoning(text: string, ofLane: { lane?: number } = {}): void {
    const delta = this.#capReasoning(text);
    if (delta === '') return;
    if (!this.#reasoning) {
      const { run, index } = this.#next;
      const id = itemId('rs', run, { output: index });
      const item: ReasoningItem = { id, type: 'reasoning', summary: [], content: [], ...ofLane, status: 'in_progress' };
      this.#output.push(item);
      this.#reasoning = { index, item, text: '' };
      this.#writer.push({ type: 'response.output_item.added', output_index: index, item });
      for (const event of openParts(this.#options.reasoningStyle, { item_id: id, output_index: index }))
        this.#writer.push(event);
    }
    const open = this.#reasoning;
    open.text += delta;
    for (const type of REASONING_DELTAS[this.#options.reasoningStyle])
      this.#writer.pushDelta({ type, itemId: open.item.id, outputIndex: open.index, delta });
  }

  #endThought({ status, encrypted }: { status: 'completed' | 'incomplete'; encrypted?: string | undefined }): void {
    if (encrypted !== undefined && !this.#reasoning) {
      this.endMessage('completed');
      this.#emit(hiddenReasoningLogItem(encrypted, this.#next));
    } else this.endReasoning(status, encrypted);
  }

  /** Closes what a turn left open that calls something. */
  #endTurn(step: Extract<Step, { type: 'tool_calls' | 'function_calls' }>): void {
    this.#endThought({ status: 'completed', encrypted: step.encrypted });
    this.endMessage('completed');
    this.#addImages(step);
  }

  #addImages({ images = [] }: { images?: readonly string[] }): void {
    if (images.length > 0) this.endMessage('completed');
    for (const url of images) this.#emit(imageItem(url, this.#next));
  }

  /** The part of a delta that still fits into `MAX_REASONING`. */
  #capReasoning(delta: string): string {
    if (this.#reasoningLength >= MAX_REASONING) return '';
    const room = MAX_REASONING - this.#reasoningLength;
    this.#reasoningLength += delta.length;
    return delta.length < room ? delta : delta.slice(0, room).toWellFormed() + TRUNCATION_NOTE;
  }

  #addAnswer({ delta, annotations = [], logprobs, refuses, phase }: Extract<Step, { type: 'answer' }>): void {
    if (delta === '' && annotations.length === 0) return;
    if (!this.#options.encryptsReasoning) this.endReasoning('completed');
    if (phase !== undefined && phase !== this.#message?.item.phase) this.endMessage('completed');
    if (!this.#message) {
      const { open, events } = openMessage({ refuses: refuses ?? false, phase }, this.#next);
      this.#emit({ index: open.index, item: open.item, events });
      this.#message = open;
    }
    const open = this.#message;
    open.text += delta;
    if (delta !== '') {
      this.#writer.pushDelta({
        type: open.refuses ? 'response.refusal.delta' : 'response.output_text.delta',
        itemId: open.item.id,
        outputIndex: open.index,
        delta,
        ...(logprobs && { logprobs: this.#capLogprobs(open, logprobs) }),
      });
    }
    if (open.refuses) return;
    for (const annotation of annotations)
      this.#addAnnotation(open, this.#options.profile === undefined ? annotation : asOpenAi(annotation));
  }

  /** The logprobs that still fit into `MAX_LOGPROBS`. */
  #capLogprobs(open: OpenMessage, logprobs: readonly TokenLogprob[]): TokenLogprob[] {
    const fitting = fittingLogprobs(logprobs, MAX_LOGPROBS - this.#logprobsLength);
    // Once some are left out, all later ones are, too.
    const isCut = fitting.length < logprobs.length;
    this.#logprobsLength = isCut ? MAX_LOGPROBS : this.#logprobsLength + logprobSize(fitting);
    open.logprobs.push(...fitting);
    return fitting;
  }

  #addAnnotation(open: OpenMessage, annotation: UrlCitation): void {
    const place = { item_id: open.item.id, output_index: open.index, content_index: 0 };
    const annotation_index = open.annotations.push(annotation) - 1;
    this.#writer.push({ type: 'response.output_text.annotation.added', ...place, annotation_index, annotation });
  }

  #startCall(started: StartedCall): void {
    if (this.#isHidden(started)) return void this.#hidden.add(started.call);
    // A call that waited for its approval was hidden until now.
    this.#hidden.delete(started.call);
    this.#callIndexes[started.call] = this.#output.length;
    this.#emit(beginCall(started, { profile: this.#options.profile, ...this.#next }));
  }

  #emitLaneTurn({ lane, thought, calls }: Extract<Step, { type: 'lane_turn' }>): void {
    this.endReasoning('completed');
    this.#addReasoning(thought, { lane });
    this.endReasoning('completed');
    const visible = calls.filter((call) => !this.#isHidden(call));
    const { profile } = this.#options;
    for (const recorded of laneCallItems(visible, { profile, lane, ...this.#next })) this.#emit(recorded);
  }

  #endCall(ended: { call: number; status: 'completed' | 'failed'; result: string }): void {
    if (this.#hidden.has(ended.call)) return;
    const index = this.#callIndexes[ended.call];
    const item = index === undefined ? undefined : this.#output[index];
    if (index === undefined || !item || !isCallItem(item)) throw new Error(`tool call ${ended.call} was never started`);
    this.#closeCall(index, item, ended);
  }

  #closeCall(index: number, item: CallItem, ended: { status: 'completed' | 'failed'; result: string }): void {
    this.#emit(endCall(item, { index, status: ended.status, result: ended.result }));
  }

  /** Lists MCP servers, once and before everything else. */
  #listServers(servers: readonly ListedServer[]): void {
    if (this.#options.profile === undefined || this.#output.length > 0) return;
    for (const server of servers) this.#emit(listedTools(server, this.#next));
  }

  /** Where the next item goes. */
  get #next(): Position {
    return { run: this.#options.runId, index: this.#output.length };
  }

  #emit({ index, item, events }: LogItem): void {
    this.#output[index] = item;
    for (const event of events) this.#writer.push(event);
  }
}
