import { estimateRequest } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage, TurnTool } from '../../upstream/turn.ts';
import { recordText } from '../run/evidence.ts';
import type { ContextRun } from '../run/run.ts';
import type { CompactionEntry, OpeningEntry } from '../run/transcript.ts';
import { keywords } from '../text/key-facts.ts';
import { questionOf } from '../text/prose.ts';
import { compact, findingsMessages, findingsOfRest } from './compaction.ts';
import { lastThatFit } from './fitting.ts';
import { createOpening } from './opening.ts';
import { lastSegment, messagesOf, wholeCalls } from './segment.ts';
import { type ContextWindow, createContextWindow } from './window.ts';

/**
 * Builds what is sent to the model. It depends on the transcript alone: each request extends the one before, until the
 * context has to be compacted, which is an entry of the transcript, too.
 */
export interface Context {
  readonly window: ContextWindow;
  /** The keywords of the question. */
  readonly about: ReadonlySet<string>;
  /** The system prompt and the tools of every request of the run. */
  readonly opening: OpeningEntry;
  /**
   * The compaction that a request which ends with `tail` needs, to be stored before it is sent; undefined if it fits.
   * `maxTokens`: a limit in the provider's tokens, if it is lower than the window.
   */
  makeRoom(tail: readonly TurnMessage[], maxTokens?: number): Promise<CompactionEntry | undefined>;
  /**
   * The messages of a request that ends with `tail`, and its estimated tokens, tools included. `stable`: how many leading
   * messages later requests repeat unchanged.
   */
  messages(tail: readonly TurnMessage[]): { messages: TurnMessage[]; estimate: number; stable: number };
  /** The findings of everything that is still sent in full, as lines. */
  findings(): Promise<string>;
  /** The model's notes from reasoning that is not sent back, as a list; '' if there are none. */
  ownNotes(): string;
}

/** The share of a request that notes from reasoning may have. */
const OWN_NOTES_SHARE = 0.06;

/** The context at the end of a run's transcript. A resumed run sends exactly what it would have sent. */
export function createContext(run: ContextRun): Context {
  const { request, model, state, fence } = run;
  const window = createContextWindow({
    contextLength: model.context_length,
    answerTokens: request.maxOutputTokens ?? model.max_completion_tokens,
    compactAt: model.research.compact_at,
  });
  const firstRoom = window.room;
  for (const entry of state.ownEntries) {
    if (entry.t === 'turn' && !entry.usage.estimated) window.learn(entry.estimate, entry.usage.inputTokens);
    if (entry.t === 'spent' && entry.tooLarge !== undefined) window.refused(entry.tooLarge, entry.asked);
  }
  const opened = createOpening(run);
  const opening = state.opening ?? { system: opened.system, tools: toolsOf(run) };
  const about = keywords(run.lane?.question ?? questionOf(request));
  const openingMessages = (room: number) => opened.messages(room, opening.system);
  const tools = estimateRequest([], opening.tools);

  return {
    window,
    about,
    opening,
    async makeRoom(tail, maxTokens = Number.POSITIVE_INFINITY) {
      await opened.prepare();
      const { estimate } = this.messages(tail);
      const affordable = window.estimated(maxTokens);
      const limit = Math.min(window.threshold, affordable);
      if (estimate <= limit || wasJustCompacted(state)) return undefined;
      const segment = lastSegment(state);
      const fitted = segment.room ?? firstRoom;
      const sizeIn = (room: number) => estimateRequest([...openingMessages(room), ...tail]) + tools;
      // If the window became smaller and the opening fills most of it, the opening is fitted again.
      const room = sizeIn(fitted) > limit * OPENING_SHARE ? Math.min(fitted, window.room) : fitted;
      const older = segment.parts.filter(({ entry }) => entry.t === 'turn').length > 1;
      if (estimate <= Math.min(window.room, affordable) && !older && room === fitted) return undefined;
      return await compact({
        state,
        segment,
        fence,
        about,
        limit,
        fixed: sizeIn(room),
        room,
        keepWhole: model.research.keep_tool_results,
        maxTurns: run.budget.turns,
      });
    },
    messages(tail) {
      const segment = lastSegment(state);
      const before = openingMessages(segment.room ?? firstRoom);
      const blocks = findingsMessages(segment, fence);
      const { shortened } = segment;
      const whole = wholeCalls(segment);
      const turns = segment.parts.flatMap((part) => messagesOf(part, { state, fence, whole, shortened }));
      const messages = [...before, ...blocks, ...turns, ...tail];
      return { messages, estimate: estimateRequest(messages) + tools, stable: messages.length - tail.length };
    },
    async findings() {
      const segment = lastSegment(state);
      const fixed = estimateRequest(openingMessages(segment.room ?? firstRoom)) + tools;
      return await findingsOfRest({ state, segment, fence, about, limit: window.threshold, fixed });
    },
    ownNotes() {
      const notes = lastSegment(state).parts.flatMap(({ entry }) =>
        entry.t === 'turn' ? (entry.notes ?? []).filter(({ note }) => !entry.message.content.includes(note)) : [],
      );
      const lines = notes.map((note) => `+ ${recordText(note)}`);
      return lastThatFit(lines, window.threshold * OWN_NOTES_SHARE).join('\n');
    },
  };
}

/** The share of a request that the opening may have. */
const OPENING_SHARE = 0.6;

/**
 * Whether the latest entry that matters is a compaction. An instance that resumes the run before the request was answered
 * then sends the same request, without compacting again.
 */
function wasJustCompacted({ ownEntries: own }: ContextRun['state']): boolean {
  const last = own.findLast(
    (entry) =>
      entry.t !== 'warned' && (entry.t !== 'spent' || entry.tooLarge !== undefined || entry.answerLength !== undefined),
  );
  return last?.t === 'compaction';
}

function toolsOf({ tools, request }: ContextRun): TurnTool[] {
  const own = [...tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  return [...own, ...(request.functions ?? [])];
}
