import { contentText } from '../../base/text.ts';
import { UPDATE_PLAN } from '../../protocol/plan.ts';
import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage, UserPart } from '../../upstream/turn.ts';
import { ASK_USER } from '../run/own-tools.ts';
import type { ConversationMessage } from '../run/request.ts';
import type { ContextRun } from '../run/run.ts';
import { questionLanguage } from '../text/language.ts';
import { questionOf } from '../text/prose.ts';
import { createEarlierSources } from './earlier-sources.ts';

/** How every request of a run starts: with the system prompt, and the conversation that led to the question. */
export interface ContextOpening {
  /** The system prompt without the sources of earlier runs. */
  readonly system: string;
  /** Prepares `messages` with pauses for the event loop. */
  prepare(): Promise<void>;
  /** The opening with this system prompt, fitted into `room` tokens. The request's own input is never cut. */
  messages(room: number, system: string): TurnMessage[];
}

/** The shares of the room that sources of earlier runs and earlier turns may fill. */
const EARLIER_SOURCES_SHARE = 0.15;
const HISTORY_SHARE = 0.35;

export function createOpening(run: ContextRun): ContextOpening {
  const { request } = run;
  let prompt: string | undefined;
  const fitted = new Map<string, TurnMessage[]>();
  const earlierSources = createEarlierSources(run);
  const turnMessages = (messages: readonly ConversationMessage[]) =>
    messages.filter((message) => !isSystem(message)).map((message) => toTurnMessage(message, run));
  const input = [...turnMessages(request.conversation), ...laneTask(run)];
  if (input.at(-1)?.role === 'assistant' && !request.goesOn) input.push(GO_ON);
  const history = turnMessages(request.history);
  return {
    get system() {
      prompt ??= systemPrompt(run);
      return prompt;
    },
    prepare: () => earlierSources.read(),
    messages(room, system) {
      const key = `${room} ${system}`;
      const known = fitted.get(key);
      if (known) return known;
      const sources = earlierSources.list(room * EARLIER_SOURCES_SHARE);
      const first: TurnMessage = { role: 'system', content: sources === '' ? system : `${system}\n\n${sources}` };
      const messages = [first, ...lastMessagesThatFit(history, room * HISTORY_SHARE), ...input];
      fitted.set(key, messages);
      return messages;
    },
  };
}

/** Follows a thread that ends with the assistant's words or calls: some providers refuse those, or write them on. */
const GO_ON: TurnMessage = { role: 'user', content: 'Go on from here with my question above.' };

function systemPrompt(run: ContextRun): string {
  const { request, tools, prompts, fence } = run;
  const common = commonValues(run);
  if (request.plan === 'propose') return prompts.propose(common);
  return prompts.research({
    ...common,
    tools: [...tools.keys()].join(', ') || 'none',
    plans: tools.has(UPDATE_PLAN),
    lanes: request.lanes ?? 1,
    clarifies: tools.has(ASK_USER),
    effort: request.effort,
    mark: fence.mark,
  });
}

/** The values in every system prompt of a run: the date, the language of the question, the application's instructions. */
export function commonValues({ request, model, startedAt }: Pick<ContextRun, 'request' | 'model' | 'startedAt'>) {
  const instructions = [
    model.research.instructions,
    request.instructions ?? undefined,
    ...[...request.history, ...request.conversation].filter(isSystem).map(({ content }) => contentText(content)),
  ].filter((text) => text !== undefined && text !== '');
  return {
    date: new Date(startedAt).toISOString().slice(0, 10),
    language: questionLanguage(questionOf(request)) ?? 'that of the question',
    instructions:
      instructions.length === 0 ? '' : `\nInstructions of the user's application:\n${instructions.join('\n\n')}`,
  };
}

function laneTask({ lane }: ContextRun): TurnMessage[] {
  return lane ? [{ role: 'user', content: lane.ask }] : [];
}

/** A message with less room than this, in tokens, is left out. */
const MIN_MESSAGE = 150;

/** The last messages that fit, the first of them possibly shortened. Never starts with an answer without its question. */
function lastMessagesThatFit(messages: readonly TurnMessage[], room: number): TurnMessage[] {
  const fitting: TurnMessage[] = [];
  let left = room;
  for (const message of messages.toReversed()) {
    const size = estimateRequest([message]);
    if (size > left) {
      const cut = left >= MIN_MESSAGE ? cutTo(message, left) : undefined;
      if (cut) fitting.unshift(cut);
      break;
    }
    fitting.unshift(message);
    left -= size;
  }
  if (fitting.length === 0 || fitting[0]?.role === 'user') return fitting;
  return [{ role: 'user', content: '(The beginning of this conversation is left out.)' }, ...fitting];
}

/** The start and the end of a message; undefined for a message with images. */
function cutTo(message: TurnMessage, tokens: number): TurnMessage | undefined {
  const { content } = message;
  if (typeof content !== 'string' || (message.role !== 'user' && message.role !== 'assistant')) return undefined;
  const length = Math.floor((content.length * (tokens - 20)) / estimateTokens(content) / 2);
  return { role: message.role, content: `${content.slice(0, length)}\n[…]\n${content.slice(-length)}` };
}

function isSystem(message: ConversationMessage): boolean {
  return message.role === 'system' || message.role === 'developer';
}

const AN_IMAGE = { type: 'text', text: '(an image)' };

/** Converts a message; its images are only named if the model of this run reads none. */
function toTurnMessage(message: ConversationMessage, { model, fence }: ContextRun): TurnMessage {
  const images = model.vision && message.content.some((part) => part.type === 'image');
  if (message.role === 'assistant' || !images) {
    const text = contentText(message.content.map((part) => (part.type === 'image' ? AN_IMAGE : part)));
    return message.role === 'assistant'
      ? { role: 'assistant', content: fence.renew(text) }
      : { role: 'user', content: text };
  }
  const parts = message.content.map(
    (part): UserPart =>
      part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } },
  );
  return { role: 'user', content: parts };
}
