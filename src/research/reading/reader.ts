import { linkSignals, TimeoutError, withTimeout } from '../../base/abort.ts';
import { isObject, type JsonObject, type JsonValue, scalarText } from '../../base/json.ts';
import { type Tool, type ToolContext, ToolError, type ToolOutput } from '../../tools/tool.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import { costOf } from '../../upstream/price.ts';
import type { TurnUsage } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import type { ResearchRun } from '../run/run.ts';
import { keyFacts } from '../text/key-facts.ts';
import { questionOf } from '../text/prose.ts';
import { cutPieces } from './pieces.ts';
import { factsOf, NOTES_TOKENS, type PieceToRead, readPiece } from './read-piece.ts';
import type { PieceNotes } from './reader-records.ts';

/**
 * Reads huge pages: a page that would fill the context is read piece by piece by a model with the question in mind, and
 * the research model gets the notes (`research.reader` may name a cheaper route).
 */

/** A page that is larger than this share of the window is huge: the research model gets notes in its place. */
const HUGE_SHARE = 0.4;
/** A long page goes to the model as it is, but a configured reader writes the notes that are retained. In tokens. */
const LONG_TOKENS = 3000;
/** The size of a piece of a huge page, as a share of the window. */
const PIECE_SHARE = 0.3;
/** An upper limit for pieces, because models overlook less in smaller ones. */
const MAX_PIECE_TOKENS = 8000;
/** How many parts of one page are fetched, and how many pieces are read; the model gets the rest with `offset`. */
const MAX_PARTS = 12;
const MAX_PIECES = 24;
/** The most tokens that one piece may cost. */
const PIECE_TOKENS = { input: MAX_PIECE_TOKENS * 1.5, output: NOTES_TOKENS };
const PARALLEL = 3;
/** How long reading may take after the page is fetched, and how long the work after that, in milliseconds. */
const READING_MS = 180_000;
const GRACE_MS = 15_000;

export interface PageReader {
  tools: ReadonlyMap<string, Tool>;
  /** Returns the usage of reading since the last call. */
  takeSpent(): TurnUsage[];
  /** The reader's notes on a page, by the arguments of the call that fetched it; undefined if it was not read. */
  notesOn(args: JsonObject): readonly PieceNotes[] | undefined;
}

/** What all pages of a turn may still use together: they are read at the same time. */
interface Purse {
  tokens: number;
  money: number;
}

/** Wraps `fetch_url_content` of a run's tools with a reader for huge pages. */
export function withReader(run: ResearchRun, context: Context): PageReader {
  const fetcher = run.tools.get('fetch_url_content');
  if (!fetcher) return { tools: run.tools, takeSpent: () => [], notesOn: () => undefined };
  const read = new Map<string, PieceNotes[]>();
  let spent: TurnUsage[] = [];
  let purse: Purse | undefined;
  const reading: Tool = {
    ...fetcher,
    call: async (args, toolContext) => {
      const output = await fetchInTime(fetcher, args, toolContext);
      const { room } = context.window;
      const page = pageOf(output);
      if (!page) return output;
      const isHuge = tokensOf(page, args) > room * HUGE_SHARE;
      if (!isHuge && (!run.model.research.reader || estimateTokens(page.text) < LONG_TOKENS)) return output;
      const whole = isHuge && fromStart(args) ? await fetchRest(fetcher, page, { args, toolContext }) : page;
      const pieces = cutPieces(whole.text, isHuge ? Math.min(MAX_PIECE_TOKENS, room * PIECE_SHARE) : MAX_PIECE_TOKENS);
      const toRead = pieces.slice(0, MAX_PIECES);
      purse ??= { tokens: run.allowance.tokensLeft, money: run.costBudget.readingBudget };
      const spend = (usage: TurnUsage) => void spent.push(usage);
      const notes = await readPieces(run, { pieces: toRead, args, purse, signal: toolContext.signal, spend });
      read.set(JSON.stringify(args), withOffsets(pieces, notes));
      // A long page goes to the model as it is; the notes are for later compaction.
      if (!isHuge) return output;
      const short = shortenNotes(notes, { tokens: room * HUGE_SHARE, about: context.about });
      return { ...output, result: (sourceId) => notesResult(output.result(sourceId), { notes: short, pieces, whole }) };
    },
    // This one call includes several model turns.
    timeoutMs: fetcher.timeoutMs + READING_MS + GRACE_MS,
  };
  return {
    tools: new Map(run.tools).set(fetcher.name, reading),
    notesOn: (args) => read.get(JSON.stringify(args)),
    takeSpent() {
      const usage = spent;
      spent = [];
      return usage;
    },
  };
}

/** The notes that are not empty, with their pieces and offsets. */
function withOffsets(pieces: readonly string[], notes: readonly string[]): PieceNotes[] {
  let at = 0;
  return notes.flatMap((note, index) => {
    const text = pieces[index] ?? '';
    const from = at;
    at += text.length;
    return note === '' ? [] : [{ notes: note, text, from }];
  });
}

/** A page, or as much of it as was fetched. Lengths and offsets are in UTF-16 code units. */
interface Page {
  text: string;
  /** Where it continues after `text`; undefined at its end. */
  nextOffset: number | undefined;
  totalLength: number;
}

function pageOf(output: ToolOutput): Page | undefined {
  const value = output.failed ? undefined : output.result(() => 0);
  if (!isObject(value) || typeof value.content !== 'string') return undefined;
  const { content: text, next_offset, total_length } = value;
  return {
    text,
    nextOffset: typeof next_offset === 'number' ? next_offset : undefined,
    totalLength: typeof total_length === 'number' ? total_length : text.length,
  };
}

/** The estimated tokens of the whole page, or of the fetched part if the model requested a certain part. */
function tokensOf(page: Page, args: JsonObject): number {
  const tokens = estimateTokens(page.text);
  if (!fromStart(args) || page.nextOffset === undefined) return tokens;
  return (tokens * page.totalLength) / Math.max(1, page.text.length);
}

/** Whether a call requests the page from its start, and not a certain part of it. */
function fromStart({ offset }: JsonObject): boolean {
  return !Number(scalarText(offset ?? 0));
}

/** The page with its further parts, up to `MAX_PARTS`. A part that cannot be fetched ends it. */
async function fetchRest(
  fetcher: Tool,
  first: Page,
  { args, toolContext }: { args: JsonObject; toolContext: ToolContext },
): Promise<Page> {
  const page = { ...first };
  for (let parts = 1; page.nextOffset !== undefined && parts < MAX_PARTS; parts++) {
    const part = await fetchPart(fetcher, { ...args, offset: page.nextOffset }, toolContext);
    if (!part) break;
    page.text += part.text;
    page.nextOffset = part.nextOffset;
  }
  return page;
}

/** Fetches with the fetcher's own time limit, so that a page that trickles in does not use up the time for reading. */
function fetchInTime(fetcher: Tool, args: JsonObject, toolContext: ToolContext): Promise<ToolOutput> {
  const fetching = (signal: AbortSignal) => fetcher.call(args, { ...toolContext, signal });
  return withTimeout(fetcher.name, fetcher.timeoutMs, fetching, { signal: toolContext.signal });
}

async function fetchPart(fetcher: Tool, args: JsonObject, toolContext: ToolContext): Promise<Page | undefined> {
  try {
    return pageOf(await fetchInTime(fetcher, args, toolContext));
  } catch (thrown) {
    const isOver = toolContext.signal.aborted;
    if (!isOver && (thrown instanceof ToolError || thrown instanceof TimeoutError)) return undefined;
    throw thrown;
  }
}

/** Notes on each piece, in order. Once time, tokens or money run out, the rest is reduced to key facts. */
async function readPieces(
  run: ResearchRun,
  options: {
    pieces: readonly string[];
    args: JsonObject;
    purse: Purse;
    signal: AbortSignal;
    spend(usage: TurnUsage): void;
  },
): Promise<string[]> {
  const { pieces, args, purse, signal } = options;
  const question = questionOf(run.request);
  const goal = typeof args.goal === 'string' && args.goal.trim() !== '' ? args.goal : 'the question itself';
  const known = run.readerPrice ? costOf(run.readerPrice, PIECE_TOKENS) : Number.POSITIVE_INFINITY;
  const maxPrice = run.costBudget.isLimited ? known : 0;
  const spend = (usage: TurnUsage) => {
    purse.tokens -= usage.inputTokens + usage.outputTokens;
    purse.money -= usage.cost ?? 0;
    options.spend(usage);
  };
  using limit = linkSignals([signal], { what: 'reading', timeoutMs: READING_MS });
  const notes: string[] = new Array(pieces.length).fill('');
  const waiting = pieces.entries();
  const worker = async () => {
    for (const [index, text] of waiting) {
      const piece = { text, place: `piece ${index + 1} of ${pieces.length}`, question, goal, spend };
      const isAffordable = purse.tokens > 0 && purse.money >= maxPrice && !limit.signal.aborted;
      notes[index] = isAffordable ? await readInTime(piece) : factsOf(piece);
    }
  };
  const readInTime = async (piece: PieceToRead) => {
    // Reserved until it is known what the piece cost.
    purse.money -= maxPrice;
    try {
      return await readPiece(run, piece, { signal: limit.signal });
    } catch (thrown) {
      if (limit.signal.aborted && !signal.aborted) return factsOf(piece);
      // The call has failed: the others must not go on to pay for pieces.
      limit.abort(thrown);
      throw thrown;
    } finally {
      purse.money += maxPrice;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return notes;
}

/** Shortens notes proportionally, so that together they fit into `limit.tokens`. */
function shortenNotes(notes: readonly string[], limit: { tokens: number; about: ReadonlySet<string> }): string[] {
  const tokens = estimateTokens(notes.join('\n'));
  if (tokens <= limit.tokens) return [...notes];
  return notes.map((note) =>
    keyFacts(note, { about: limit.about, maxLength: Math.floor((note.length * limit.tokens) / tokens) }),
  );
}

function notesResult(
  value: JsonValue,
  read: { notes: readonly string[]; pieces: readonly string[]; whole: Page },
): JsonValue {
  if (!isObject(value)) return value;
  const { notes, pieces, whole } = read;
  const unread = pieces.slice(notes.length).reduce((length, piece) => length + piece.length, 0);
  const fetchedEnd = whole.nextOffset ?? whole.totalLength;
  const nextOffset = unread > 0 ? fetchedEnd - unread : whole.nextOffset;
  const text = notes.filter((note) => note !== '').join('\n') || 'Nothing in it answers the question.';
  const { next_offset: _, more_on_goal: __, links: ___, links_left_out: ____, ...page } = value;
  return {
    ...page,
    content: `Notes on a document of ${whole.totalLength} characters, read in ${notes.length} pieces:\n${text}`,
    truncated: nextOffset !== undefined,
    ...(nextOffset === undefined ? {} : { next_offset: nextOffset }),
  };
}
