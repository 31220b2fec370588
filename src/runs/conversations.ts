import { randomUUID } from 'node:crypto';
import { type Clock, toSeconds } from '../base/clock.ts';
import { fieldError, GatewayError } from '../base/errors.ts';
import { newRunId, parseItemId, type RunId, uuidAfter } from '../base/ids.ts';
import { isObject, type JsonObject, type JsonValue, parseJson } from '../base/json.ts';
import { yieldToEventLoop } from '../base/load/event-loop.ts';
import type { ConversationObject } from '../protocol/conversations.ts';
import { decodeFrames } from '../protocol/frames.ts';
import { completeInputItem } from '../protocol/openai/items.ts';
import type { FollowUp } from '../research/run/request.ts';
import { noteRemoval, removedPlace } from '../store/removed-records.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import type {
  ConversationItem,
  ConversationRecord,
  ConversationStore,
} from '../store/side-stores/conversation-store.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';
import { LEASE_MS } from './executing/run-lease.ts';
import type { CarriedTranscripts } from './stored/carried-transcripts.ts';
import { readInput, readRequest, readResearchRequest } from './stored/stored-request.ts';
import type { Caller, JoinedConversation } from './submission.ts';
import { followUpContext } from './submitting/history.ts';

const PREFIX = 'conv_';
/** How much a conversation may hold when a response joins it, or after items are added. */
const LIMITS = { items: 10_000, bytes: 32 * 1024 ** 2 };
/**
 * How long a run that holds a conversation may be missing before it counts as never created, in milliseconds. A run that is
 * created later finds out when it calls `hold` again.
 */
const CREATING_MS = LEASE_MS;
/** How many of the latest responses are searched for a research. */
const MAX_RESPONSES = 100;
/** How many items are read at a time. */
const PAGE = 500;

/** The name of the list in which removed items of a user's conversations are remembered: conversations end unseen. */
function itemsOf({ user }: ConversationRecord): string {
  return `items of ${user}`;
}

export interface ConversationsOptions {
  store: RunStore;
  conversations: ConversationStore;
  entries: EntryStore;
  carried: CarriedTranscripts;
  clock: Clock;
  /** How long a conversation stays after its last change, in milliseconds. */
  retentionMs: number;
}

/**
 * Conversations of users (docs/api.md, "Conversations"). A run holds its conversation from before it is created. Whoever
 * looks up a conversation whose holder has ended adds that run's input and output and releases it, in one step of the
 * store, so it happens exactly once whichever process dies.
 */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #store: ConversationStore;
  readonly #ttl: { keepMs: number };

  constructor(options: ConversationsOptions) {
    this.#options = options;
    this.#store = options.conversations;
    this.#ttl = { keepMs: options.retentionMs };
  }

  async create(
    { user }: Caller,
    { items, metadata }: { items: readonly JsonObject[]; metadata: JsonObject },
  ): Promise<ConversationObject> {
    const record = { id: randomUUID(), user, createdAt: this.#options.clock.now(), metadata: JSON.stringify(metadata) };
    await this.#store.create({ ...record, ...this.#ttl, items: storedItems(items, newItemId) });
    return toConversationObject(record);
  }

  /**
   * The one way from an id to a conversation: unknown and foreign ones are both `not_found`. If the run that held it has
   * ended, its items are added first.
   */
  async find({ user }: Caller, publicId: string, { param }: { param?: string } = {}): Promise<ConversationRecord> {
    const id = uuidAfter(PREFIX, publicId);
    const record = id && (await this.#store.get(id));
    const settled = record && record.user === user ? await this.#settle(record) : undefined;
    if (settled) return settled;
    const message = `Nothing that this key may read has the id ${publicId.slice(0, 80)}.`;
    throw new GatewayError('not_found', message, param === undefined ? {} : { param });
  }

  async setMetadata(record: ConversationRecord, metadata: JsonObject): Promise<ConversationObject> {
    const text = JSON.stringify(metadata);
    if (!(await this.#store.setMetadata(record.id, text, this.#ttl))) throw removedError();
    return toConversationObject({ ...record, metadata: text });
  }

  async delete(record: ConversationRecord): Promise<void> {
    await this.#store.delete(record.id);
  }

  /** Appends items and returns them with their ids. @throws GatewayError `invalid_parameter` if the conversation is full. */
  async add(record: ConversationRecord, items: readonly JsonObject[]): Promise<JsonObject[]> {
    const added = storedItems(items, newItemId);
    const result = await this.#store.add(record.id, added, { ...this.#ttl, max: LIMITS });
    if (result === 'missing') throw removedError();
    if (result === 'full') throw fullError('items');
    return added.map(parseItem);
  }

  /**
   * A page of items; `after` is an item, or the place of one that was removed.
   * @throws GatewayError `invalid_parameter` for a cursor that names no item.
   */
  async items(
    record: ConversationRecord,
    page: { limit: number; order: 'asc' | 'desc'; after?: string | number | undefined },
  ): Promise<{ items: JsonObject[]; hasMore: boolean }> {
    const found = await this.#store.items(record.id, page);
    if (found !== 'unknown_cursor') return { items: found.items.map(parseItem), hasMore: found.hasMore };
    const after = await removedPlace(this.#options.entries, itemsOf(record), `${record.id} ${page.after}`);
    if (after !== undefined) return await this.items(record, { ...page, after });
    throw fieldError('invalid_parameter', 'after', 'there is no such item in this conversation.');
  }

  async item(record: ConversationRecord, id: string): Promise<JsonObject> {
    const item = await this.#store.item(record.id, id);
    if (!item) throw noItemError(id);
    return parseItem(item);
  }

  async removeItem(record: ConversationRecord, id: string): Promise<void> {
    const item = await this.#store.item(record.id, id);
    if (!item) throw noItemError(id);
    const { entries, clock } = this.#options;
    // Noted first: if the process dies in between, no cursor is unknown.
    await noteRemoval(entries, itemsOf(record), { id: `${record.id} ${id}`, place: item.place, now: clock.now() });
    if (!(await this.#store.removeItem(record.id, id, this.#ttl))) throw noItemError(id);
  }

  /**
   * What a response needs to join a conversation: all its items, and for research what the last one in it knew.
   * @throws GatewayError `not_found`, `invalid_parameter` if it is full.
   */
  async join(
    caller: Caller,
    publicId: string,
  ): Promise<{
    joined: JoinedConversation;
    items: JsonObject[];
    lastResearch(): Promise<Omit<FollowUp, 'history'>>;
  }> {
    const record = await this.find(caller, publicId, { param: 'conversation' });
    const { id, version } = record;
    if (record.items >= LIMITS.items || record.bytes >= LIMITS.bytes) throw fullError('conversation');
    const items: JsonObject[] = [];
    for (let hasMore = true; hasMore; ) {
      const last = items.at(-1);
      const page = await this.items(record, { limit: PAGE, order: 'asc', after: last && `${last.id}` });
      items.push(...page.items);
      hasMore = page.hasMore;
      await yieldToEventLoop();
    }
    return { joined: { id, version }, items, lastResearch: () => this.#lastResearch(caller, items) };
  }

  /** What the last research in it knew. Responses of plain models may follow it, and any of them may be gone. */
  async #lastResearch({ user }: Caller, items: readonly JsonObject[]): Promise<Omit<FollowUp, 'history'>> {
    const ids = items.flatMap(({ id }) => (typeof id === 'string' && parseItemId(id)?.run) || []);
    for (const id of [...new Set(ids.toReversed())].slice(0, MAX_RESPONSES)) {
      const run = await this.#options.store.get(id);
      if (run?.user !== user || !readResearchRequest(run)) continue;
      const answers = items.filter(({ role }) => role === 'assistant');
      const answer = JSON.stringify(answers.at(-1)?.content ?? '');
      const { history: _, ...context } = await followUpContext(this.#options, run, { text: answer, annotations: [] });
      return context;
    }
    return { earlierSources: [], answersQuestion: false };
  }

  /**
   * Gives the conversation to a run that is about to be created. Call it again after the creation: only from then on is the
   * conversation safe until the run ends, because before that the run may count as never created.
   * @throws GatewayError `conversation_locked` if another response writes to it, or has done so since it was read.
   */
  async hold({ id, version }: JoinedConversation, run: RunId): Promise<void> {
    const result = await this.#store.hold(id, run, { ...this.#ttl, version });
    if (result === 'held') return;
    if (result === 'missing') throw removedError('conversation');
    const message = 'Another response writes this conversation, or has just done so. Wait for its end and try again.';
    throw new GatewayError('conversation_locked', message, { param: 'conversation' });
  }

  /** Releases the conversation of a run that was not created. */
  async release({ id }: JoinedConversation, run: RunId): Promise<void> {
    await this.#store.finish(id, run, [], this.#ttl);
  }

  /** Call before an ended run is removed: adds its items to its conversation. */
  async saveOutcome(run: RunRecord): Promise<void> {
    const { conversation: id } = readRequest(run);
    const ended = id === undefined ? undefined : await this.#options.store.get(run.id);
    if (id !== undefined && ended && ended.endedAt !== null) await this.#finish(id, ended);
  }

  /** Releases the conversation of an ended run, adding its items if it completed. */
  async #finish(id: string, run: RunRecord): Promise<void> {
    const items = run.status === 'completed' ? await this.#itemsOf(run) : [];
    await this.#store.finish(id, run.id, items, this.#ttl);
  }

  async #itemsOf(run: RunRecord): Promise<ConversationItem[]> {
    const last = await this.#options.store.readLast(run.id);
    const event = last && decodeFrames(last.frames).at(-1);
    // The run was removed meanwhile, and its output with it.
    if (!event || !('response' in event)) return [];
    const sent = readInput(run).filter((item) => !isCopiedRequest(item));
    const input = storedItems(sent, (item, index) => ownId(item, run) ?? inputId(item, run, index));
    const output = event.response.output.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
    return [...input, ...output];
  }

  async #settle(record: ConversationRecord): Promise<ConversationRecord | undefined> {
    const { id, holder } = record;
    if (!holder) return record;
    const run = await this.#options.store.get(holder.run);
    if (run ? run.endedAt === null : Math.abs(holder.heldMs) < CREATING_MS) return record;
    if (run) await this.#finish(id, run);
    else await this.#store.finish(id, holder.run, [], this.#ttl);
    return await this.#store.get(id);
  }
}

/** The conversation object of the API, which has no items. */
export function toConversationObject(
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

/** A conversation's id as clients see it. */
export function publicConversationId(id: string): string {
  return PREFIX + id;
}

/** Items as they are stored, as OpenAI's API shows them. They get other ids, so what links them by id is kept beside it. */
function storedItems(
  items: readonly JsonObject[],
  idOf: (item: JsonObject, index: number) => string,
): ConversationItem[] {
  const links = new Map<unknown, JsonValue | undefined>();
  const stored = items.map((item, index) => {
    const id = idOf(item, index);
    if (item.type === 'mcp_approval_request') links.set(item.id, id);
    if (item.type === 'local_shell_call') links.set(item.id, item.call_id);
    return { ...completeInputItem(item), ...linkOf(item, links), id };
  });
  return stored.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
}

/** What names an earlier item by its id. `links`: what stands for the ids that earlier items had. */
function linkOf(item: JsonObject, links: ReadonlyMap<unknown, JsonValue | undefined>): JsonObject {
  if (item.type === 'local_shell_call_output')
    return { call_id: item.call_id ?? links.get(item.id) ?? item.id ?? null };
  const { approval_request_id: request } = item;
  return request === undefined ? {} : { approval_request_id: links.get(request) ?? request };
}

function parseItem({ json }: ConversationItem): JsonObject {
  const item = parseJson(json);
  if (isObject(item)) return item;
  throw new GatewayError('internal_error', 'An item of this conversation cannot be read.');
}

/** The id prefix of an item's type: `function_call_output` -> `fco`; `msg` for messages and items without a type. */
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

/** Whether a client sends an approval request again: the conversation has it, and the approval names it by its id. */
function isCopiedRequest({ type, id }: JsonObject): boolean {
  return type === 'mcp_approval_request' && typeof id === 'string' && parseItemId(id)?.place !== undefined;
}

/** The id of an input item, if it is one that its run gave it. */
function ownId({ id }: JsonObject, run: RunRecord): string | undefined {
  return typeof id === 'string' && parseItemId(id)?.run === run.id ? id : undefined;
}

/** A unique id for an input item; ids that clients chose may repeat. */
function inputId(item: JsonObject, { id }: RunRecord, index: number): string {
  return `${prefixOf(item)}_${id.replaceAll('-', '')}_${index}`;
}

function fullError(param: string): GatewayError {
  const what = `the conversation has ${LIMITS.items} items or ${LIMITS.bytes} bytes. Begin another one.`;
  return fieldError('invalid_parameter', param, what);
}

function removedError(param?: string): GatewayError {
  return new GatewayError('not_found', 'The conversation was removed.', param === undefined ? {} : { param });
}

function noItemError(id: string): GatewayError {
  return new GatewayError('not_found', `There is no item ${id.slice(0, 80)} in this conversation.`);
}
