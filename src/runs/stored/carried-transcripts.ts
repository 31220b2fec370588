import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { parseJson } from '../../base/json.ts';
import type { ResearchRequest } from '../../research/run/request.ts';
import { type TranscriptEntry, transcriptEntry } from '../../research/run/transcript.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { ConversationStore } from '../../store/side-stores/conversation-store.ts';
import { parseStored } from './stored-data.ts';
import { readResearchRequest } from './stored-request.ts';

export interface CarriedTranscriptsOptions {
  store: RunStore;
  /** Where they are stored: as lists of items that belong to no user, so that no client can name them. */
  conversations: ConversationStore;
  clock: Clock;
  /** How long a run is retained after its end, in milliseconds. */
  retentionMs: number;
  /** How long a run may take, in milliseconds. */
  runMs: number;
}

/** What one response adds to the transcript of its research. */
const segment = z.object({
  /** The response that this one continued. */
  after: z.string().optional(),
  entries: z.array(transcriptEntry),
});
const member = z.object({ at: z.number() });

/** How long a run that has joined may be missing before it counts as never created, in milliseconds. */
const CREATING_MS = 60_000;
const PAGE = 500;
/** Each continued response adds one item, so the lists are bounded as responses are. */
const UNBOUNDED = { items: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

/**
 * The transcripts of research that stopped for its client and was continued (docs/api.md, "Functions of research models").
 * What a response adds is stored once, and the responses that continue it refer to it. It is retained while any response
 * of the research is, whichever of them are removed.
 */
export class CarriedTranscripts {
  readonly #options: CarriedTranscriptsOptions;
  readonly #lists: ConversationStore;
  readonly #ttl: { keepMs: number };

  constructor(options: CarriedTranscriptsOptions) {
    this.#options = options;
    this.#lists = options.conversations;
    // Retention begins with the end of a run.
    this.#ttl = { keepMs: options.retentionMs + options.runMs };
  }

  /**
   * The entries of the responses that a request continues, in order.
   * @throws GatewayError `not_found` if they are gone.
   */
  async entriesBefore({ goesOn }: Partial<Pick<ResearchRequest, 'goesOn'>>): Promise<TranscriptEntry[]> {
    if (!goesOn) return [];
    const parts = [goesOn.entries];
    for (let { after } = goesOn; after !== undefined; ) {
      const item = await this.#lists.item(goesOn.from, after);
      if (!item) throw removedError();
      const { entries, after: before } = parseStored(segment, item.json, 'transcript of an earlier response');
      parts.push(entries);
      after = before;
    }
    return parts.reverse().flat();
  }

  /** Stores what a response added, once, and returns where. @throws GatewayError `not_found` if what it continued is gone. */
  async save(
    run: RunRecord,
    { goesOn }: Pick<ResearchRequest, 'goesOn'>,
    own: readonly TranscriptEntry[],
  ): Promise<{ from: string; after: string }> {
    const { from = run.id, after, entries = [] } = goesOn ?? {};
    const now = this.#options.clock.now();
    const record = { user: '', createdAt: now, metadata: '{}', ...this.#ttl };
    if (after === undefined) {
      await this.#lists.create({ ...record, id: membersOf(from), items: [memberOf(run.id, now)] });
      await this.#lists.create({ ...record, id: from, items: [] });
    }
    const json = JSON.stringify({ ...(after !== undefined && { after }), entries: [...entries, ...own] });
    const added = await this.#lists.add(from, [{ id: run.id, json }], { ...this.#ttl, max: UNBOUNDED });
    if (added !== 'added') throw removedError();
    return { from, after: run.id };
  }

  /** Retains the transcript for a run that is about to be created. @throws GatewayError `not_found` if it is gone. */
  async join({ goesOn }: Pick<ResearchRequest, 'goesOn'>, run: RunId): Promise<void> {
    if (goesOn?.after === undefined) return;
    const item = memberOf(run, this.#options.clock.now());
    const added = await this.#lists.add(membersOf(goesOn.from), [item], { ...this.#ttl, max: UNBOUNDED });
    if (added !== 'added') throw removedError();
  }

  /** Call after a run was removed: the transcript goes with the last run of its research. */
  async runRemoved(run: RunRecord): Promise<void> {
    const request = readResearchRequest(run);
    if (!request) return;
    const from = request.goesOn?.from ?? run.id;
    if (!(await this.#lists.get(membersOf(from)))) return;
    await this.#lists.removeItem(membersOf(from), run.id, this.#ttl);
    if (await this.#hasMembers(membersOf(from))) return;
    await this.#lists.delete(from);
    await this.#lists.delete(membersOf(from));
  }

  /** Whether a member run exists or may still be created. Expired runs stay in the list, so each is looked up. */
  async #hasMembers(list: string): Promise<boolean> {
    const creatingSince = this.#options.clock.now() - CREATING_MS;
    for (let after: string | undefined, hasMore = true; hasMore; ) {
      const page = await this.#lists.items(list, { limit: PAGE, order: 'desc', after });
      if (page === 'unknown_cursor') return true;
      for (const { id, json } of page.items) {
        const joined = member.safeParse(parseJson(json)).data;
        if ((joined && joined.at > creatingSince) || (await this.#options.store.get(id))) return true;
      }
      after = page.items.at(-1)?.id;
      hasMore = page.hasMore;
    }
    return false;
  }
}

/** The list of the runs that belong to a research. */
function membersOf(from: string): string {
  return `${from}/runs`;
}

function memberOf(id: RunId, at: number) {
  return { id, json: JSON.stringify({ at }) };
}

function removedError(): GatewayError {
  const message = 'The research that this one continues was removed. Begin a new one.';
  return new GatewayError('not_found', message, { param: 'previous_response_id' });
}
