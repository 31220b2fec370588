import type { ErrorObject } from '../../../base/errors.ts';
import { itemId, type RunId } from '../../../base/ids.ts';
import type { Profile } from '../../../config/schema.ts';
import {
  answerIn,
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
  endCall,
  endedCalls,
  isCallItem,
  listedTools,
  placesOfCalls,
} from './call-items.ts';
import { clientCallItems } from './client-calls.ts';
import type { LogWriter } from './log-writer.ts';
import { closedMessage, fittingLogprobs, type OpenMessage, openedMessage, reopenedMessage } from './message-events.ts';
import {
  closedItem,
  compaction,
  hiddenThought,
  openedParts,
  REASONING_DELTAS,
  type ReasoningStyle,
  textOfReasoning,
} from './reasoning-events.ts';
import type { ToldItem } from './told-item.ts';

export interface RecorderOptions {
  runId: RunId;
  writer: LogWriter;
  /** The items so far. */
  output: readonly OutputItem[];
  /** Whose items and events the log has; the service's own where undefined. */
  profile: Profile | undefined;
  /** How thoughts are shown. */
  style: ReasoningStyle;
  /** Thoughts stay open until their turn is whole: only then is it known what their provider wants back. */
  encrypts: boolean;
  /** The calls so far, by their numbers. */
  made: ReadonlyMap<number, { name: string; client?: true; asks?: true; lane?: number | undefined }>;
  /** How many of them belong to earlier responses. */
  before: number;
  /** Of them, those that this one makes before all others. */
  first: readonly number[];
}

/** What a run may think aloud in all, in UTF-16 code units: beyond it a model that thinks without end fills the log. */
const MAX_REASONING = 4 * 1024 * 1024;
/** What probabilities of tokens may take in all, in characters: they stand in the log several times. */
const MAX_LOGPROBS = 4 * 1024 * 1024;
const LEFT_OUT = '\n\n(Further thoughts are left out.)';

/**
 * Turns the steps of a run into events of docs/api.md, "Events" and keeps the output as it grows. Items that a crash
 * left open come in with `output`; an open message is continued in place.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #writer: LogWriter;
  readonly #output: OutputItem[];
  /** Index in the output of each tool call, by its number in the run. */
  readonly #callIndexes: number[];
  /** Calls that have no item. */
  readonly #hidden = new Set<number>();
  /** UTF-16 code units of all reasoning so far. */
  #reasoned = 0;
  #reasoning: { index: number; item: ReasoningItem; text: string } | undefined;
  /** Characters of all probabilities so far. */
  #probabilities = 0;
  #message: OpenMessage | undefined;

  constructor(options: RecorderOptions) {
    const { before, first } = options;
    this.#options = options;
    this.#writer = options.writer;
    this.#output = [...options.output];
    // Calls of lanes are told once they are done: nothing more comes of them.
    for (const [call, made] of options.made)
      if (made.lane !== undefined || this.#isHidden(made)) this.#hidden.add(call);
    for (const call of first) this.#hidden.delete(call);
    this.#callIndexes = placesOfCalls(this.#output, { hidden: this.#hidden, before, first });
    this.#output.forEach((item, index) => {
      if (item.type === 'reasoning') this.#reasoned += textOfReasoning(item).length;
      if (item.type === 'reasoning' && item.status === 'in_progress') {
        this.#reasoning = { index, item, text: textOfReasoning(item) };
      }
      if (item.type === 'message' && item.status === 'in_progress') {
        this.#message = reopenedMessage(item, index);
      }
      if (item.type === 'message') this.#probabilities += logprobSize(answerIn(item)?.logprobs ?? []);
    });
  }

  /** What a model asks its user is its answer, and OpenAI has no item for a plan. */
  #isHidden({ name, client, asks }: { name: string; client?: true; asks?: true }): boolean {
    return client || asks || name === ASK_USER || (this.#options.profile !== undefined && name === UPDATE_PLAN);
  }

  /** Remembers the items as they are; the function given back restores them where later events were refused. */
  checkpoint(): () => void {
    const output = [...this.#output];
    const reasoning = this.#reasoning;
    const message = this.#message;
    const reasoned = this.#reasoned;
    const probabilities = this.#probabilities;
    return () => {
      this.#reasoned = reasoned;
      this.#probabilities = probabilities;
      this.#output.splice(0, this.#output.length, ...output);
      this.#reasoning = reasoning;
      this.#message = message;
    };
  }

  /** The answer so far, as its reader has it; text '' where none was begun. */
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
        break;
      case 'tool_calls':
        this.#endThought({ status: 'completed', encrypted: step.encrypted });
        this.endMessage('completed');
        for (const started of step.calls) this.#startCall(started);
        break;
      case 'function_calls':
        this.#endThought({ status: 'completed', encrypted: step.encrypted });
        this.endMessage('completed');
        for (const told of clientCallItems(step.calls, { run: this.#options.runId, index: this.#output.length })) {
          this.#tell(told, this.#output.length);
        }
        break;
      case 'lane_turn':
        this.#tellLaneTurn(step);
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
        this.#tellWhole(compaction, step.encrypted);
        break;
      case 'note':
        break;
    }
    if ('entry' in step && step.entry) this.#writer.pushTranscript(step.entry, { progress: isProgress(step) });
  }

  /** Closes the open reasoning item, if any. */
  endReasoning(status: 'completed' | 'incomplete', encrypted?: string): void {
    if (!this.#reasoning) return;
    const { index } = this.#reasoning;
    this.#tell(closedItem(this.#options.style, { ...this.#reasoning, status, encrypted }), index);
    this.#reasoning = undefined;
  }

  /** Closes the open message, if any. */
  endMessage(status: 'completed' | 'incomplete'): void {
    if (!this.#message) return;
    this.#tell(closedMessage(this.#message, status), this.#message.index);
    this.#message = undefined;
  }

  /** Closes whatever is open on a run that failed or was cancelled (docs/api.md, "Events"). */
  closeOpenItems(error: ErrorObject): void {
    this.endReasoning('incomplete');
    const result = JSON.stringify({ error: { message: error.message, code: error.code } });
    this.#output.forEach((item, index) => {
      if (isCallItem(item) && item.status === 'in_progress') this.#closeCall(index, item, { status: 'failed', result });
    });
    this.endMessage('incomplete');
  }

  /** The items so far. */
  get output(): OutputItem[] {
    return [...this.#output];
  }

  #addReasoning(whole: string, ofLane: { lane?: number } = {}): void {
    const delta = this.#within(whole);
    if (delta === '') return;
    if (!this.#reasoning) {
      const index = this.#output.length;
      const id = itemId('rs', this.#options.runId, { output: index });
      const item: ReasoningItem = { id, type: 'reasoning', summary: [], content: [], ...ofLane, status: 'in_progress' };
      this.#output.push(item);
      this.#reasoning = { index, item, text: '' };
      this.#writer.push({ type: 'response.output_item.added', output_index: index, item });
      for (const event of openedParts(this.#options.style, { item_id: id, output_index: index }))
        this.#writer.push(event);
    }
    const open = this.#reasoning;
    open.text += delta;
    for (const type of REASONING_DELTAS[this.#options.style])
      this.#writer.pushDelta({ type, itemId: open.item.id, outputIndex: open.index, delta });
  }

  #endThought({ status, encrypted }: { status: 'completed' | 'incomplete'; encrypted?: string | undefined }): void {
    if (encrypted !== undefined && !this.#reasoning) {
      this.endMessage('completed');
      this.#tellWhole(hiddenThought, encrypted);
    } else this.endReasoning(status, encrypted);
  }

  /** What of a thought is still told. */
  #within(delta: string): string {
    if (this.#reasoned >= MAX_REASONING) return '';
    const left = MAX_REASONING - this.#reasoned;
    this.#reasoned += delta.length;
    return delta.length < left ? delta : delta.slice(0, left).toWellFormed() + LEFT_OUT;
  }

  #addAnswer({ delta, annotations = [], logprobs, refuses, phase }: Extract<Step, { type: 'answer' }>): void {
    if (delta === '' && annotations.length === 0) return;
    if (!this.#options.encrypts) this.endReasoning('completed');
    if (phase !== undefined && phase !== this.#message?.item.phase) this.endMessage('completed');
    if (!this.#message) {
      const { open, events } = openedMessage(this.#options.runId, {
        index: this.#output.length,
        refuses: refuses ?? false,
        phase,
      });
      this.#tell({ item: open.item, events }, open.index);
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
        ...(logprobs && { logprobs: this.#told(open, logprobs) }),
      });
    }
    if (open.refuses) return;
    for (const annotation of annotations)
      this.#addAnnotation(open, this.#options.profile === undefined ? annotation : asOpenAi(annotation));
  }

  /** What of probabilities is still told. */
  #told(open: OpenMessage, logprobs: readonly TokenLogprob[]): TokenLogprob[] {
    const told = fittingLogprobs(logprobs, MAX_LOGPROBS - this.#probabilities);
    // Behind those that are left out nothing is told.
    this.#probabilities = told.length < logprobs.length ? MAX_LOGPROBS : this.#probabilities + logprobSize(told);
    open.logprobs.push(...told);
    return told;
  }

  #addAnnotation(open: OpenMessage, annotation: UrlCitation): void {
    const place = { item_id: open.item.id, output_index: open.index, content_index: 0 };
    const annotation_index = open.annotations.push(annotation) - 1;
    this.#writer.push({ type: 'response.output_text.annotation.added', ...place, annotation_index, annotation });
  }

  #startCall(started: StartedCall): void {
    if (this.#isHidden(started)) return void this.#hidden.add(started.call);
    // One that waited for its approval was hidden until now.
    this.#hidden.delete(started.call);
    const index = this.#output.length;
    this.#callIndexes[started.call] = index;
    this.#tell(beginCall(started, { profile: this.#options.profile, run: this.#options.runId, index }), index);
  }

  #tellLaneTurn({ lane, thought, calls }: Extract<Step, { type: 'lane_turn' }>): void {
    this.endReasoning('completed');
    this.#addReasoning(thought, { lane });
    this.endReasoning('completed');
    const first = this.#output.length;
    const shown = calls.filter((call) => !this.#isHidden(call));
    for (const [at, told] of endedCalls(shown, {
      profile: this.#options.profile,
      run: this.#options.runId,
      first,
      lane,
    }))
      this.#tell(told, at);
  }

  #endCall(done: { call: number; status: 'completed' | 'failed'; result: string }): void {
    if (this.#hidden.has(done.call)) return;
    const index = this.#callIndexes[done.call];
    const item = index === undefined ? undefined : this.#output[index];
    if (index === undefined || !item || !isCallItem(item)) throw new Error(`tool call ${done.call} was never started`);
    this.#closeCall(index, item, done);
  }

  #closeCall(index: number, item: CallItem, done: { status: 'completed' | 'failed'; result: string }): void {
    this.#tell(endCall(item, { index, status: done.status, result: done.result }), index);
  }

  #tellWhole(tell: typeof compaction | typeof hiddenThought, encrypted: string): void {
    const index = this.#output.length;
    this.#tell(tell(this.#options.runId, { index, encrypted }), index);
  }

  /** Servers are listed once, before everything else. */
  #listServers(servers: readonly ListedServer[]): void {
    if (this.#options.profile === undefined || this.#output.length > 0) return;
    for (const server of servers) {
      const index = this.#output.length;
      this.#tell(listedTools(server, { run: this.#options.runId, index }), index);
    }
  }

  #tell({ item, events }: ToldItem<OutputItem>, index: number): void {
    this.#output[index] = item;
    for (const event of events) this.#writer.push(event);
  }
}
