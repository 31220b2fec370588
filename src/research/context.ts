import type { TurnMessage, TurnTool, UserPart } from '../upstream/turn.ts';
import { type Digesting, fitTranscript } from './fit-transcript.ts';
import { keywords } from './key-facts.ts';
import { languageOf } from './language.ts';
import { fence, questionOf, textOf } from './prose.ts';
import type { ConversationMessage } from './request.ts';
import type { ResearchRun } from './run.ts';
import { estimateRequest } from './tokens.ts';
import { type ContextWindow, createContextWindow } from './window.ts';

/** What is sent to the model: built anew for every turn from the request and the transcript, which is never cut. */
export interface Context {
  readonly window: ContextWindow;
  /** The words that matter for the question. */
  readonly digesting: Digesting;
  /**
   * The messages of a request that ends with `tail`, fitted into the window, and their estimated tokens with those of
   * the tools.
   */
  messages(tail: readonly TurnMessage[], tools?: readonly TurnTool[]): { messages: TurnMessage[]; estimate: number };
}

/** Earlier turns of the conversation may fill this part of the window. */
const HISTORY_SHARE = 0.4;

/** The context of a run. */
export function createContext(run: ResearchRun): Context {
  const { request, model, state } = run;
  const window = createContextWindow({
    contextLength: model.context_length,
    answerTokens: request.maxOutputTokens ?? model.max_completion_tokens,
  });
  const system: TurnMessage = { role: 'system', content: systemPrompt(run) };
  const asked = request.conversation.filter((message) => !isSystem(message)).map(toTurnMessage);
  const history = request.history.filter((message) => !isSystem(message)).map(toTurnMessage);
  const digesting: Digesting = { about: keywords(questionOf(request)), cache: new WeakMap() };
  return {
    window,
    digesting,
    messages(tail, tools = []) {
      const fixed = estimateRequest([system, ...asked, ...tail], tools);
      const kept = lastThatFit(history, (window.room - fixed) * HISTORY_SHARE);
      const opening = [system, ...kept, ...asked];
      const room = window.room - fixed - estimateRequest(kept);
      const found = fitTranscript(state, { ...digesting, room, keepWhole: model.research.keep_tool_results });
      const messages = [...opening, ...found, ...tail];
      return { messages, estimate: estimateRequest(messages, tools) };
    },
  };
}

function systemPrompt(run: ResearchRun): string {
  const { request, model, tools } = run;
  const given = [
    model.research.instructions,
    request.instructions ?? undefined,
    ...[...request.history, ...request.conversation].filter(isSystem).map(textOf),
  ].filter((text) => text !== undefined && text !== '');
  const earlier = earlierSources(run);
  return run.prompts.research({
    date: new Date(run.clock.now()).toISOString().slice(0, 10),
    tools: [...tools.keys()].join(', ') || 'none',
    effort: request.effort,
    language: languageOf(questionOf(request)) ?? 'that of the question',
    instructions: [
      ...(given.length > 0 ? [`Instructions of the user's application:\n${given.join('\n\n')}`] : []),
      ...(earlier === ''
        ? []
        : [
            `Sources found earlier in this conversation. They can be cited by their number without being fetched again:\n${fence(earlier)}`,
          ]),
    ]
      .map((text) => `\n${text}`)
      .join('\n'),
  });
}

function earlierSources({ request, state }: ResearchRun): string {
  return request.earlierSources
    .map(
      (source) =>
        `[${state.sources.byUrl(source.url)?.id}] ${source.title} (${source.url}): ${source.facts ?? source.snippet}`,
    )
    .join('\n');
}

/** The last messages that fit, whole ones only. */
function lastThatFit(messages: readonly TurnMessage[], room: number): TurnMessage[] {
  let used = 0;
  const from = messages.findLastIndex((message) => {
    used += estimateRequest([message]);
    return used > room;
  });
  return messages.slice(from + 1);
}

function isSystem(message: ConversationMessage): boolean {
  return message.role === 'system' || message.role === 'developer';
}

function toTurnMessage(message: ConversationMessage): TurnMessage {
  if (message.role === 'assistant') return { role: 'assistant', content: textOf(message) };
  if (message.content.every((part) => part.type === 'text')) return { role: 'user', content: textOf(message) };
  const parts = message.content.map(
    (part): UserPart =>
      part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } },
  );
  return { role: 'user', content: parts };
}
