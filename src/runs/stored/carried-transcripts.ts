import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { parseJson } from '../../base/json.ts';
import type { ResearchRequest } from '../../research/run/request.ts';
import type { TranscriptEntry } from '../../research/run/transcript.ts';
import type { ConversationStore } from '../../store/beside/conversation-store.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { parseStored } from './stored-data.ts';
import { readResearchRequest } from './stored-request.ts';
import { transcriptEntry } from './stored-transcript.ts';

export interface CarriedTranscriptsOptions {
  store: RunStore;
  /** Where they are kept: in lists of items of no user, which no id of a client's names. */
  conversations: ConversationStore;
  clock: Clock;
  /** How long a run stays after its end, in milliseconds. */
  retentionMs: number;
  /** How long a run may take, in milliseconds. */
  runMs: number;
}

/** What one response adds to the transcript of its research. */
const segment = z.object({
  /** The response that it went on from. */
  after: z.string().optional(),
  entries: z.array(transcriptEntry),
});
const member = z.object({ at: z.number() });

/** How long a run that has joined may be missing before it was never created, in milliseconds. */
const CREATING_MS = 60_000;
const PAGE = 500;
/** Each response that is gone on from adds one: they are bounded as responses are. */
const UNBOUNDED = { items: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

/**
 * The transcripts of researches that stopped for the client and went on (docs/api.md, "Functions of research models"): what a
 * response adds is kept once, and those that go on from it refer to it. It stays while one of the responses of its research
 * does, whichever of them are removed.
 */
export class CarriedTranscripts {
  readonly #options: CarriedTranscriptsOptions;
  readonly #kept: ConversationStore;
  readonly #keep: { keepMs: number };

  constructor(options: CarriedTranscriptsOptions) {
    this.#options = options;
    this.#kept = options.conversations;
    // Retention begins with the end of a run.
    this.#keep = { keepMs: options.retentionMs + options.runMs };
  }

  /**
   * The entries of the responses that a request goes on from, in order.
   * @throws GatewayError `not_found` where they are gone.
   */
  async before({ goesOn }: Partial<Pick<ResearchRequest, 'goesOn'>>): Promise<TranscriptEntry[]> {
    if (!goesOn) return [];
    const parts = [goesOn.entries];
    for (let { after } = goesOn; after !== undefined; ) {
      const item = await this.#kept.item(goesOn.from, after);
      if (!item) throw gone();
      const { entries, after: before } = parseStored(segment, item.json, 'transcript of an earlier response');
      parts.push(entries);
      after = before;
    }
    return parts.reverse().flat();
  }

  /** Keeps what a response added, once, and says where. @throws GatewayError `not_found` where what was before is gone. */
  async keep(
    run: RunRecord,
    { goesOn }: Pick<ResearchRequest, 'goesOn'>,
    own: readonly TranscriptEntry[],
  ): Promise<{ from: string; after: string }> {
    const { from = run.id, after, entries = [] } = goesOn ?? {};
    const now = this.#options.clock.now();
    const record = { user: '', createdAt: now, metadata: '{}', ...this.#keep };
    if (after === undefined) {
      await this.#kept.create({ ...record, id: membersOf(from), items: [memberOf(run.id, now)] });
      await this.#kept.create({ ...record, id: from, items: [] });
    }
    const json = JSON.stringify({ ...(after !== undefined && { after }), entries: [...entries, ...own] });
    const added = await this.#kept.add(from, [{ id: run.id, json }], { ...this.#keep, most: UNBOUNDED });
    if (added !== 'added') throw gone();
    return { from, after: run.id };
  }

  /** Before a run is created that goes on: it stays for that one, too. @throws GatewayError `not_found` where it is gone. */
  async join({ goesOn }: Pick<ResearchRequest, 'goesOn'>, run: RunId): Promise<void> {
    if (goesOn?.after === undefined) return;
    const item = memberOf(run, this.#options.clock.now());
    const added = await this.#kept.add(membersOf(goesOn.from), [item], { ...this.#keep, most: UNBOUNDED });
    if (added !== 'added') throw gone();
  }

  /** After a run was removed: with the last one of its research goes what was kept for it. */
  async left(run: RunRecord): Promise<void> {
    const request = readResearchRequest(run);
    if (!request) return;
    const from = request.goesOn?.from ?? run.id;
    if (!(await this.#kept.get(membersOf(from)))) return;
    await this.#kept.removeItem(membersOf(from), run.id, this.#keep);
    if (await this.#hasMembers(membersOf(from))) return;
    await this.#kept.delete(from);
    await this.#kept.delete(membersOf(from));
  }

  /** Runs that have expired are members still. */
  async #hasMembers(list: string): Promise<boolean> {
    const young = this.#options.clock.now() - CREATING_MS;
    for (let after: string | undefined, more = true; more; ) {
      const page = await this.#kept.items(list, { limit: PAGE, order: 'desc', after });
      if (page === 'unknown_cursor') return true;
      for (const { id, json } of page.items) {
        const joined = member.safeParse(parseJson(json)).data;
        if ((joined && joined.at > young) || (await this.#options.store.get(id))) return true;
      }
      after = page.items.at(-1)?.id;
      more = page.hasMore;
    }
    return false;
  }
}

/** Where it is kept which runs are of a research. */
function membersOf(from: string): string {
  return `${from}/runs`;
}

function memberOf(id: RunId, at: number) {
  return { id, json: JSON.stringify({ at }) };
}

function gone(): GatewayError {
  const message = 'What this research goes on from was removed. Begin a new one.';
  return new GatewayError('not_found', message, { param: 'previous_response_id' });
}
