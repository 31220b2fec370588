import { linkSignals, TimeoutError, withTimeout } from '../../base/abort.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
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
 * Reading huge pages: one that would fill the context is read piece by piece by a model, each piece held against the
 * question, and the model that researches gets what matters (`research.reader` may name a cheaper route).
 */

/** A page larger than this part of the window is read in pieces, each of this part at most. */
const HUGE_SHARE = 0.4;
/** From here on a page is a long one: where a reader is configured it writes what is kept of it. */
const LONG_TOKENS = 3000;
const PIECE_SHARE = 0.3;
/** Pieces are no larger than this either: a model overlooks less in them. */
const MAX_PIECE_TOKENS = 8000;
/** Parts of one page that are fetched, and pieces that are read; the rest is left to `offset`. */
const MAX_PARTS = 12;
const MAX_PIECES = 24;
/** What one piece costs in tokens at most. */
const PIECE_TOKENS = { input: MAX_PIECE_TOKENS * 1.5, output: NOTES_TOKENS };
/** Pieces read at a time. */
const PARALLEL = 3;
/** What reading may take besides the fetching, and what is left then to put the rest together, in milliseconds. */
const READING_MS = 180_000;
const GRACE_MS = 15_000;

export interface Reading {
  tools: ReadonlyMap<string, Tool>;
  /** The tokens that reading cost since the last call. */
  takeSpent(): TurnUsage[];
  /** What the reader wrote of a page, by the arguments of the call that fetched it; undefined where it read none. */
  notesOn(args: JsonObject): readonly PieceNotes[] | undefined;
}

/** The run's tools, with a reader behind `fetch_url_content`. */
export function withReader(run: ResearchRun, context: Context): Reading {
  const fetcher = run.tools.get('fetch_url_content');
  if (!fetcher) return { tools: run.tools, takeSpent: () => [], notesOn: () => undefined };
  const read = new Map<string, PieceNotes[]>();
  let spent: TurnUsage[] = [];
  const spend = (usage: TurnUsage) => void spent.push(usage);
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
      const looked = pieces.slice(0, MAX_PIECES);
      const notes = await readPieces(run, { pieces: looked, args, signal: toolContext.signal, spend });
      read.set(JSON.stringify(args), placed(pieces, notes));
      // A page that is shown whole: what is kept of it later is what the reader finds in it.
      if (!isHuge) return output;
      const shown = shortened(notes, { tokens: room * HUGE_SHARE, about: context.about });
      return { ...output, result: (sourceId) => told(output.result(sourceId), { notes: shown, pieces, whole }) };
    },
    // Several calls of a model stand behind this one.
    timeoutMs: fetcher.timeoutMs + READING_MS + GRACE_MS,
  };
  return {
    tools: new Map(run.tools).set(fetcher.name, reading),
    notesOn: (args) => read.get(JSON.stringify(args)),
    takeSpent() {
      const taken = spent;
      spent = [];
      return taken;
    },
  };
}

/** What was written of the pieces that hold anything. */
function placed(pieces: readonly string[], notes: readonly string[]): PieceNotes[] {
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
  /** Where it goes on behind `text`. */
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

/** The tokens of the whole page, judged by the part that is there; of that part alone where the model asked for it. */
function tokensOf(page: Page, args: JsonObject): number {
  const tokens = estimateTokens(page.text);
  if (!fromStart(args) || page.nextOffset === undefined) return tokens;
  return (tokens * page.totalLength) / Math.max(1, page.text.length);
}

/** Whether a call wants the page from its beginning, and not a certain part of it. */
function fromStart({ offset }: JsonObject): boolean {
  return !Number(offset ?? 0);
}

/** The page with its further parts, as many as are read at once. A part that cannot be fetched ends it. */
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

/** Fetching has its own time of what reading may take in all: a page that comes drop by drop does not take the rest. */
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

/** Notes on each piece, in order. Where time or tokens run out, the rest is reduced to key facts. */
async function readPieces(
  run: ResearchRun,
  options: { pieces: readonly string[]; args: JsonObject; signal: AbortSignal; spend(usage: TurnUsage): void },
): Promise<string[]> {
  const { pieces, args, signal } = options;
  const question = questionOf(run.request);
  const goal = typeof args.goal === 'string' && args.goal.trim() !== '' ? args.goal : 'the question itself';
  let left = run.allowance.tokensLeft;
  let money = run.purse.readingBudget;
  const piecePrice = run.readerPrice ? costOf(run.readerPrice, PIECE_TOKENS) * PARALLEL : Number.POSITIVE_INFINITY;
  const affordable = () => money === Number.POSITIVE_INFINITY || money >= piecePrice;
  const spend = (usage: TurnUsage) => {
    left -= usage.inputTokens + usage.outputTokens;
    money -= usage.cost ?? 0;
    options.spend(usage);
  };
  using limit = linkSignals([signal], { what: 'reading', timeoutMs: READING_MS });
  const notes: string[] = new Array(pieces.length).fill('');
  const waiting = pieces.entries();
  const worker = async () => {
    for (const [index, text] of waiting) {
      const piece = { text, place: `piece ${index + 1} of ${pieces.length}`, question, goal, spend };
      notes[index] = left > 0 && affordable() && !limit.signal.aborted ? await readInTime(piece) : factsOf(piece);
    }
  };
  const readInTime = async (piece: PieceToRead) => {
    try {
      return await readPiece(run, piece, { signal: limit.signal });
    } catch (thrown) {
      if (signal.aborted || !limit.signal.aborted) throw thrown;
      return factsOf(piece);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return notes;
}

/** Notes that are no longer together than a page may be. */
function shortened(notes: readonly string[], most: { tokens: number; about: ReadonlySet<string> }): string[] {
  const tokens = estimateTokens(notes.join('\n'));
  if (tokens <= most.tokens) return [...notes];
  return notes.map((note) =>
    keyFacts(note, { about: most.about, maxLength: Math.floor((note.length * most.tokens) / tokens) }),
  );
}

function told(value: JsonValue, read: { notes: readonly string[]; pieces: readonly string[]; whole: Page }): JsonValue {
  if (!isObject(value)) return value;
  const { notes, pieces, whole } = read;
  const unread = pieces.slice(notes.length).reduce((length, piece) => length + piece.length, 0);
  const behind = whole.nextOffset ?? whole.totalLength;
  const nextOffset = unread > 0 ? behind - unread : whole.nextOffset;
  const text = notes.filter((note) => note !== '').join('\n') || 'Nothing in it answers the question.';
  const { next_offset: _, more_on_goal: __, links: ___, links_left_out: ____, ...page } = value;
  return {
    ...page,
    content: `Notes on a document of ${whole.totalLength} characters, read in ${notes.length} pieces:\n${text}`,
    truncated: nextOffset !== undefined,
    ...(nextOffset === undefined ? {} : { next_offset: nextOffset }),
  };
}
