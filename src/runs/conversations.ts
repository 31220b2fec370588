import { randomUUID } from 'node:crypto';
import { type Clock, toSeconds } from '../base/clock.ts';
import { fieldError, GatewayError } from '../base/errors.ts';
import { newRunId, parseItemId, type RunId } from '../base/ids.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import type { ConversationObject } from '../protocol/conversations.ts';
import { decodeFrames } from '../protocol/frames.ts';
import { shownInputItem } from '../protocol/openai-items.ts';
import type { EarlierSource, TakenOver } from '../research/run/request.ts';
import type { ConversationItem, ConversationRecord, ConversationStore } from '../store/beside/conversation-store.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import { LEASE_MS } from './executing/run-lease.ts';
import type { Caller, JoinedConversation } from './runs.ts';
import type { CarriedTranscripts } from './stored/carried-transcripts.ts';
import { readInput, readRequest } from './stored/stored-request.ts';
import { takenOver } from './submitting/history.ts';

const PREFIX = 'conv_';
/** What a conversation may hold before a response adds to it. */
const MOST = { items: 10_000, bytes: 32 * 1024 ** 2 };
/**
 * How long a run that holds a conversation may be missing before it was never created, in milliseconds: as long as one that
 * was created waits for another instance. A run that is created later finds out by `hold`.
 */
const CREATING_MS = LEASE_MS;
/** Items read in one step. */
const PAGE = 500;

export interface ConversationsOptions {
  store: RunStore;
  conversations: ConversationStore;
  carried: CarriedTranscripts;
  clock: Clock;
  /** How long a conversation stays after its last change, in milliseconds. */
  retentionMs: number;
}

/**
 * Conversations of users (docs/api.md, "Conversations"). A run holds its conversation from before it is created on. Whoever
 * looks at one that is held by a run that has ended adds the run's input and output and lets it go, in one step: it
 * happens once and nobody sees it undone, whichever process dies, and when.
 */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #store: ConversationStore;
  readonly #keep: { keepMs: number };

  constructor(options: ConversationsOptions) {
    this.#options = options;
    this.#store = options.conversations;
    this.#keep = { keepMs: options.retentionMs };
  }

  async create(
    { user }: Caller,
    { items, metadata }: { items: readonly JsonObject[]; metadata: JsonObject },
  ): Promise<ConversationObject> {
    const record = { id: randomUUID(), user, createdAt: this.#options.clock.now(), metadata: JSON.stringify(metadata) };
    await this.#store.create({ ...record, ...this.#keep, items: items.map((item) => stored(item, newItemId(item))) });
    return shownConversation(record);
  }

  /**
   * The one way from an id to a conversation: unknown and foreign ones are both `not_found`. What a run that has ended
   * came to is in it.
   */
  async find({ user }: Caller, publicId: string, { param }: { param?: string } = {}): Promise<ConversationRecord> {
    const id = publicId.startsWith(PREFIX) ? publicId.slice(PREFIX.length) : '';
    const record = id === '' ? undefined : await this.#store.get(id);
    const settled = record?.user === user ? await this.#settled(record) : undefined;
    if (settled) return settled;
    const message = `Nothing that this key may read has the id ${publicId.slice(0, 80)}.`;
    throw new GatewayError('not_found', message, param === undefined ? {} : { param });
  }

  async setMetadata(record: ConversationRecord, metadata: JsonObject): Promise<ConversationObject> {
    const text = JSON.stringify(metadata);
    if (!(await this.#store.setMetadata(record.id, text, this.#keep))) throw gone();
    return shownConversation({ ...record, metadata: text });
  }

  async delete(record: ConversationRecord): Promise<void> {
    await this.#store.delete(record.id);
  }

  /** Adds items behind the others and gives them with their ids. @throws GatewayError `invalid_parameter` where it is full. */
  async add(record: ConversationRecord, items: readonly JsonObject[]): Promise<JsonObject[]> {
    const added = items.map((item) => stored(item, newItemId(item)));
    const result = await this.#store.add(record.id, added, { ...this.#keep, most: MOST });
    if (result === 'missing') throw gone();
    if (result === 'full') throw full('items');
    return added.map(parsed);
  }

  /** @throws GatewayError `invalid_parameter` for a cursor that names no item. */
  async items(
    record: ConversationRecord,
    page: { limit: number; order: 'asc' | 'desc'; after?: string | undefined },
  ): Promise<{ items: JsonObject[]; hasMore: boolean }> {
    const found = await this.#store.items(record.id, page);
    if (found === 'unknown_cursor') {
      throw fieldError('invalid_parameter', 'after', 'there is no such item in this conversation.');
    }
    return { items: found.items.map(parsed), hasMore: found.hasMore };
  }

  async item(record: ConversationRecord, id: string): Promise<JsonObject> {
    const item = await this.#store.item(record.id, id);
    if (!item) throw noItem(id);
    return parsed(item);
  }

  async removeItem(record: ConversationRecord, id: string): Promise<void> {
    if (!(await this.#store.removeItem(record.id, id, this.#keep))) throw noItem(id);
  }

  /**
   * What a response that is to take part reads: all items, and the sources of the last research among them.
   * @throws GatewayError `not_found`, `invalid_parameter` where it is full.
   */
  async join(
    caller: Caller,
    publicId: string,
  ): Promise<{ joined: JoinedConversation; items: JsonObject[]; earlierSources: EarlierSource[]; askedBack: boolean }> {
    const record = await this.find(caller, publicId, { param: 'conversation' });
    const { id, version } = record;
    if (record.items >= MOST.items || record.bytes >= MOST.bytes) throw full('conversation');
    const items: JsonObject[] = [];
    for (let more = true; more; ) {
      const last = items.at(-1);
      const page = await this.items(record, { limit: PAGE, order: 'asc', after: last && `${last.id}` });
      items.push(...page.items);
      more = page.hasMore;
    }
    return { joined: { id, version }, items, ...(await this.#knownBefore(caller, items)) };
  }

  /** What the last run that answered in it knew; nothing where it is gone. */
  async #knownBefore({ user }: Caller, items: readonly JsonObject[]): Promise<Omit<TakenOver, 'history'>> {
    const last = items.findLast(({ id }) => typeof id === 'string' && parseItemId(id)?.place !== undefined);
    const parsedId = last && parseItemId(String(last.id));
    const run = parsedId && (await this.#options.store.get(parsedId.run));
    if (run?.user !== user || run.kind !== 'research') return { earlierSources: [], askedBack: false };
    const answers = items.filter(({ role }) => role === 'assistant');
    const answer = JSON.stringify(answers.at(-1)?.content ?? '');
    const { history: _, ...known } = await takenOver(this.#options, run, answer);
    return known;
  }

  /**
   * Gives the conversation to a run that is about to be created. Asked again once it was created: from then on nobody but
   * the run's end takes it away, but until then it may have been taken for one that never will be.
   * @throws GatewayError `conversation_locked` where another response writes it, or has written it since it was read.
   */
  async hold({ id, version }: JoinedConversation, run: RunId): Promise<void> {
    const result = await this.#store.hold(id, run, { ...this.#keep, version });
    if (result === 'held') return;
    if (result === 'missing') throw gone('conversation');
    const message = 'Another response writes this conversation, or has just done so. Wait for its end and try again.';
    throw new GatewayError('conversation_locked', message, { param: 'conversation' });
  }

  /** Gives it back for a run that was not created. */
  async letGo({ id }: JoinedConversation, run: RunId): Promise<void> {
    await this.#store.finish(id, run, [], this.#keep);
  }

  /** Before a run is removed that has ended: what it came to stays in its conversation. */
  async keepOf(run: RunRecord): Promise<void> {
    const { conversation: id } = readRequest(run);
    const ended = id === undefined ? undefined : await this.#options.store.get(run.id);
    if (id !== undefined && ended && ended.endedAt !== null) await this.#finish(id, ended);
  }

  /** Of a run that was cancelled or failed nothing is added. */
  async #finish(id: string, run: RunRecord): Promise<void> {
    const items = run.status === 'completed' ? await this.#itemsOf(run) : [];
    await this.#store.finish(id, run.id, items, this.#keep);
  }

  async #itemsOf(run: RunRecord): Promise<ConversationItem[]> {
    const last = await this.#options.store.readLast(run.id);
    const event = last && decodeFrames(last.frames).at(-1);
    // It was removed meanwhile, and with it what it came to.
    if (!event || !('response' in event)) return [];
    const input = readInput(run).map((item, index) => stored(item, ownId(item, run) ?? inputId(item, run, index)));
    const output = event.response.output.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
    return [...input, ...output];
  }

  async #settled(record: ConversationRecord): Promise<ConversationRecord | undefined> {
    const { id, holder } = record;
    if (!holder) return record;
    const run = await this.#options.store.get(holder.run);
    if (run ? run.endedAt === null : holder.heldMs < CREATING_MS) return record;
    if (run) await this.#finish(id, run);
    else await this.#store.finish(id, holder.run, [], this.#keep);
    return await this.#store.get(id);
  }
}

/** Without its items. */
export function shownConversation(
  record: Pick<ConversationRecord, 'id' | 'createdAt' | 'metadata'>,
): ConversationObject {
  const metadata = parseJson(record.metadata);
  return {
    id: publicConversationId(record.id),
    object: 'conversation',
    created_at: toSeconds(record.createdAt),
    metadata: isObject(metadata) ? metadata : {},
  };
}

/** As clients see it. */
export function publicConversationId(id: string): string {
  return PREFIX + id;
}

/** An item as it is kept: as OpenAI shows it. */
function stored(item: JsonObject, id: string): ConversationItem {
  return { id, json: JSON.stringify({ ...shownInputItem(item), id }) };
}

function parsed({ json }: ConversationItem): JsonObject {
  const item = parseJson(json);
  if (isObject(item)) return item;
  throw new GatewayError('internal_error', 'An item of this conversation cannot be read.');
}

/** `function_call_output` -> `fco`; of what needs no type of its own `msg`. */
function prefixOf({ type }: JsonObject): string {
  if (typeof type !== 'string' || type === 'message') return 'msg';
  return type
    .split('_')
    .map((word) => word.charAt(0))
    .join('');
}

function newItemId(item: JsonObject): string {
  return `${prefixOf(item)}_${newRunId().replaceAll('-', '')}`;
}

/** The id of an input item by which it is found among those of its run. */
function ownId({ id }: JsonObject, run: RunRecord): string | undefined {
  return typeof id === 'string' && parseItemId(id)?.run === run.id ? id : undefined;
}

/** Ids that clients chose may come again. */
function inputId(item: JsonObject, { id }: RunRecord, index: number): string {
  return `${prefixOf(item)}_${id.replaceAll('-', '')}_${index}`;
}

function full(param: string): GatewayError {
  const what = `the conversation has ${MOST.items} items or ${MOST.bytes} bytes. Begin another one.`;
  return fieldError('invalid_parameter', param, what);
}

function gone(param?: string): GatewayError {
  return new GatewayError('not_found', 'The conversation was removed.', param === undefined ? {} : { param });
}

function noItem(id: string): GatewayError {
  return new GatewayError('not_found', `There is no item ${id.slice(0, 80)} in this conversation.`);
}
