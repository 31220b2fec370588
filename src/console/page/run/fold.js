import { asText } from '../format.js';
import { planOf, UPDATE_PLAN } from '../watching/plan-state.js';
import { parseJson, Sources, sourcesFromCall } from './sources.js';

/**
 * The state of a run after some of its events. Live, resumed and replayed runs fold the same event log, so they look the
 * same.
 */
export class RunState {
  /** The response object of the first or last event. */
  response = null;
  status = 'in_progress';
  /** Output items in order, as the timeline shows them. */
  items = [];
  /** Sources by address, in the order in which they were found. */
  sources = new Sources();
  /** Sequence number of the last event. */
  last = 0;
  /** How many events there were of each type. */
  counts = new Map();
  /** Characters of thoughts and answer so far. */
  written = 0;
  /** Model turns that can be told from the log: a stretch of thoughts and the calls that follow it. */
  turns = 0;
  calls = 0;
  /** The current plan: `[{text, status, finding}]`; null without a plan. */
  plan = null;
  /** How many lanes run in parallel; 0 for a run without lanes. */
  lanes = 0;
  ended = false;

  apply(event) {
    const { type } = event;
    this.last = event.sequence_number ?? this.last;
    this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        this.#respond(event.response);
        break;
      case 'response.completed':
      case 'response.failed':
      case 'response.incomplete':
        this.#respond(event.response);
        this.ended = true;
        for (const [index, item] of (event.response.output ?? []).entries()) this.#finish(index, item);
        break;
      case 'response.output_item.added':
        this.#add(event.output_index, event.item);
        break;
      case 'response.output_item.done':
        this.#finish(event.output_index, event.item);
        break;
      case 'response.reasoning_text.delta':
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#write(event);
        break;
      case 'response.output_text.annotation.added':
        this.#annotate(event);
        break;
    }
  }

  get message() {
    return this.items.findLast((item) => item.type === 'message');
  }

  #respond(response) {
    this.response = response;
    this.plan = planOf(response.plan) ?? this.plan;
    this.status = response.status;
  }

  #add(index, item) {
    const kind = kindOf(item.type);
    const before = this.items[index - 1]?.kind;
    if (kind === 'call' && item.name !== UPDATE_PLAN && item.type !== 'compaction') this.calls += 1;
    if (kind === 'thought' || (kind === 'call' && before !== 'thought' && before !== 'call')) this.turns += 1;
    this.items[index] = {
      id: item.id,
      index,
      type: item.type,
      kind,
      status: item.status ?? 'in_progress',
      /** Sequence numbers of the events that started and ended it. */
      from: this.last,
      to: null,
      lane: laneOf(item),
      text: '',
      annotations: [],
      ...callOf(item),
    };
    this.lanes = Math.max(this.lanes, this.items[index].lane ?? 0);
    if (item.name === UPDATE_PLAN) this.plan = planOf(parseJson(item.arguments)) ?? this.plan;
  }

  #finish(index, item) {
    if (this.items[index]?.done) return;
    if (!this.items[index]) this.#add(index, item);
    const known = this.items[index];
    const text = textOf(item);
    // A new object, so that views draw it again.
    const finished = {
      ...known,
      ...callOf(item),
      status: item.status ?? 'completed',
      to: this.last,
      done: true,
    };
    if (text !== undefined) {
      this.written += Math.max(0, text.length - known.text.length);
      finished.text = text;
    }
    const annotations = item.content?.[0]?.annotations;
    if (annotations) finished.annotations = annotations;
    this.items[index] = finished;
    if (finished.kind === 'call') sourcesFromCall(this.sources, finished);
    if (finished.kind === 'answer') this.#cite(finished.annotations);
  }

  #write({ output_index, delta }) {
    const item = this.items[output_index];
    if (!item || item.done) return;
    this.items[output_index] = { ...item, text: item.text + delta };
    this.written += delta.length;
  }

  #annotate({ output_index, annotation }) {
    const item = this.items[output_index];
    if (!item || item.done) return;
    this.items[output_index] = { ...item, annotations: [...item.annotations, annotation] };
    this.#cite([annotation]);
  }

  #cite(annotations) {
    for (const annotation of annotations) {
      const { url, title, verified } = annotation;
      const known = this.sources.get(url) ?? { url, title, snippet: '', content: '', state: 'unseen', sourceId: null };
      const number = numberOf(annotation) ?? known.number;
      this.sources.set(url, { ...known, title: known.title || title, number, cited: true, verified });
    }
  }
}

/** The number of a citation in the text: `index`, or in logs of versions before it the number of the source. */
export function numberOf({ index, source_id }) {
  return index === undefined ? (source_id ?? null) : index;
}

/** A lane with a higher number is an error in the log. */
const MAX_LANES = 16;

function laneOf({ lane }) {
  return Number.isInteger(lane) && lane > 0 && lane <= MAX_LANES ? lane : undefined;
}

function kindOf(type) {
  if (type === 'reasoning') return 'thought';
  if (type === 'mcp_list_tools') return 'tools';
  return type === 'message' ? 'answer' : 'call';
}

function textOf(item) {
  if (item.type !== 'reasoning' && item.type !== 'message') return undefined;
  return (item.content ?? []).map(({ text, refusal }) => text ?? refusal ?? '').join('');
}

/** A tool call in the gateway's own form, also for OpenAI's items (`profile: openai`): its parts are texts. */
function callOf(item) {
  const { name, arguments: args, result } = partsOf(item);
  if (name === undefined) return {};
  return { name: asText(name), arguments: asText(args), result: result && asText(result) };
}

function partsOf(item) {
  const { type, name, arguments: args, result, error, action, queries, results, server_label } = item;
  switch (type) {
    case 'reasoning':
    case 'message':
      return {};
    case 'tool_call':
      return { name: name ?? '', arguments: args, result };
    case 'web_search_call':
      if (action?.type === 'open_page') return { name: 'fetch_url_content', arguments: { url: action.url } };
      return { name: 'web_search', arguments: action };
    case 'code_interpreter_call': {
      const logs = (item.outputs ?? []).map((entry) => asText(entry?.logs ?? entry)).join('\n');
      return {
        name: 'execute_python',
        arguments: { code: item.code },
        result: item.outputs && { stdout: logs },
      };
    }
    case 'image_generation_call':
      return {
        name: type,
        result: item.result ? `An image, ${Math.ceil((item.result.length * 3) / 4096)} KiB` : undefined,
      };
    case 'mcp_list_tools':
      return { name: server_label ?? '', result: error ?? item.tools };
    default: {
      return {
        name: name ? `${asText(server_label ?? type)}.${asText(name)}` : type,
        arguments: args ?? item.input ?? action ?? item.operation ?? (queries && { queries }),
        result: result ?? item.output ?? failureOf(error) ?? results ?? undefined,
      };
    }
  }
}

/** Why a call failed: `error` is a text, or has the parts of one. */
function failureOf(error) {
  return Array.isArray(error?.content) ? error.content.map((part) => part?.text ?? '').join('\n') : error;
}
