import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import type { Tool, ToolContext, ToolOutput } from '../tools/tool.ts';
import { noUsage, TurnError, type TurnUsage } from '../upstream/turn.ts';
import type { Context } from './context.ts';
import { fence, questionOf } from './prose.ts';
import type { ResearchRun } from './run.ts';
import { estimateTokens } from './tokens.ts';

/**
 * Reading huge pages: one that would fill the context is read piece by piece by a model, each piece held against the
 * question, and the model that researches gets what matters (`research.reader` may name a cheaper route).
 */

/** A page larger than this part of the window is read in pieces. */
const HUGE_SHARE = 0.5;
/** Pieces of one page that are read; the rest is left to `offset`. */
const MAX_PIECES = 12;
/** Pieces read at a time. */
const PARALLEL = 3;
/** What the reader may write about one piece, in tokens. */
const NOTES_TOKENS = 500;
const CHARS_PER_TOKEN = 4;

export interface Reading {
  tools: ReadonlyMap<string, Tool>;
  /** The tokens that reading cost since the last call. */
  takeSpent(): TurnUsage[];
}

/** The run's tools, with a reader behind `fetch_url_content`. */
export function withReader(run: ResearchRun, context: Context): Reading {
  const fetcher = run.tools.get('fetch_url_content');
  if (!fetcher) return { tools: run.tools, takeSpent: () => [] };
  let spent: TurnUsage[] = [];
  const reading: Tool = {
    ...fetcher,
    call: async (args, toolContext) => {
      const output = await fetcher.call(args, toolContext);
      const page = hugePage(output, { limit: context.window.room * HUGE_SHARE * CHARS_PER_TOKEN });
      if (!page || typeof args.offset === 'number') return output;
      const pieces = await collectPieces(fetcher, { args, page, context: toolContext });
      const goal = typeof args.goal === 'string' ? args.goal : '';
      const notes = await readPieces(run, {
        pieces,
        goal,
        signal: toolContext.signal,
        spend: (usage) => spent.push(usage),
      });
      return { ...output, result: (sourceId) => summarised(output.result(sourceId), { notes, pieces, page }) };
    },
    // Several calls of a model stand behind this one.
    timeoutMs: fetcher.timeoutMs + 120_000,
  };
  return {
    tools: new Map(run.tools).set(fetcher.name, reading),
    takeSpent() {
      const taken = spent;
      spent = [];
      return taken;
    },
  };
}

interface HugePage {
  first: string;
  nextOffset: number;
  totalLength: number;
}

function hugePage(output: ToolOutput, { limit }: { limit: number }): HugePage | undefined {
  const value = output.failed ? undefined : output.result(() => 0);
  if (!isObject(value)) return undefined;
  const { content, next_offset, total_length } = value;
  if (typeof content !== 'string' || typeof next_offset !== 'number' || typeof total_length !== 'number')
    return undefined;
  return total_length > limit ? { first: content, nextOffset: next_offset, totalLength: total_length } : undefined;
}

interface Pieces {
  texts: string[];
  /** Where the page goes on behind the last piece. */
  nextOffset: number | undefined;
}

async function collectPieces(
  fetcher: Tool,
  options: { args: JsonObject; page: HugePage; context: ToolContext },
): Promise<Pieces> {
  const texts = [options.page.first];
  let nextOffset: number | undefined = options.page.nextOffset;
  while (nextOffset !== undefined && texts.length < MAX_PIECES) {
    const output = await fetcher.call({ ...options.args, offset: nextOffset }, options.context);
    const value = output.result(() => 0);
    if (!isObject(value) || typeof value.content !== 'string') break;
    texts.push(value.content);
    nextOffset = typeof value.next_offset === 'number' ? value.next_offset : undefined;
  }
  return { texts, nextOffset };
}

async function readPieces(
  run: ResearchRun,
  options: { pieces: Pieces; goal: string; signal: AbortSignal; spend(usage: TurnUsage): void },
): Promise<string[]> {
  const { texts } = options.pieces;
  const notes: string[] = new Array(texts.length).fill('');
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < texts.length; index = next++) {
      notes[index] = await readPiece(run, {
        ...options,
        text: texts[index] ?? '',
        place: `piece ${index + 1} of ${texts.length}`,
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, texts.length) }, worker));
  return notes;
}

/** The notes on one piece; a piece that cannot be read is named as such instead of failing the page. */
async function readPiece(
  run: ResearchRun,
  piece: { text: string; place: string; goal: string; signal: AbortSignal; spend(usage: TurnUsage): void },
): Promise<string> {
  const system = run.prompts.read({ question: questionOf(run.request), goal: piece.goal || 'the question itself' });
  let notes = '';
  try {
    const turn = run.reader.turn(
      {
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: `${piece.place}:\n${fence(piece.text)}` },
        ],
        maxOutputTokens: NOTES_TOKENS,
      },
      { signal: piece.signal },
    );
    for await (const part of turn) {
      if (part.type === 'text') notes += part.delta;
      if (part.type === 'finish') piece.spend(part.usage);
    }
  } catch (thrown) {
    piece.signal.throwIfAborted();
    if (!(thrown instanceof TurnError)) throw thrown;
    piece.spend(thrown.started ? { ...noUsage(), outputTokens: estimateTokens(notes), estimated: true } : thrown.usage);
    run.log.warn({ err: thrown.message }, 'a piece of a page could not be read');
    return `(${piece.place} could not be read)`;
  }
  return /^\W*NOTHING\W*$/.test(notes) ? '' : notes.trim();
}

function summarised(value: unknown, read: { notes: readonly string[]; pieces: Pieces; page: HugePage }): JsonObject {
  const notes = read.notes.filter((text) => text !== '').join('\n');
  const head = `Notes on a document of ${read.page.totalLength} characters, read in ${read.notes.length} pieces:`;
  const page: JsonObject = isJsonObject(value) ? { ...value } : {};
  delete page.next_offset;
  return {
    ...page,
    content: notes === '' ? `${head}\nNothing in it answers the question.` : `${head}\n${notes}`,
    truncated: read.pieces.nextOffset !== undefined,
    ...(read.pieces.nextOffset === undefined ? {} : { next_offset: read.pieces.nextOffset }),
  };
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value) && parseJson(JSON.stringify(value)) !== undefined;
}
