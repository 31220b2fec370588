import type { TurnMessage, UserPart } from '../upstream/turn.ts';
import type { Prompts } from './prompts.ts';
import type { ConversationMessage, ResearchRequest } from './request.ts';
import type { PlannedCall, ResearchState } from './transcript.ts';

/** What is sent to the model: built anew for every turn from the request and the transcript, which is never cut. */

/** The messages before the transcript: system prompt, earlier turns, the question. */
export function openingMessages(options: {
  request: ResearchRequest;
  prompts: Prompts;
  now: Date;
  toolNames: readonly string[];
  modelInstructions: string | undefined;
}): TurnMessage[] {
  const { request, prompts } = options;
  const conversation = [...request.history, ...request.conversation];
  const instructions = [
    options.modelInstructions,
    request.instructions ?? undefined,
    ...conversation.filter(isSystem).map(textOf),
  ].filter((text) => text !== undefined && text !== '');
  const system = prompts.research({
    date: options.now.toISOString().slice(0, 10),
    tools: options.toolNames.join(', ') || 'none',
    effort: request.effort,
    instructions:
      instructions.length > 0 ? `\nInstructions of the user's application:\n${instructions.join('\n\n')}` : '',
  });
  const messages: TurnMessage[] = [{ role: 'system', content: system }];
  for (const message of conversation) if (!isSystem(message)) messages.push(toTurnMessage(message));
  return messages;
}

/** The transcript as messages: turns with their tool results, and the gateway's notes. */
export function transcriptMessages(state: ResearchState): TurnMessage[] {
  const messages: TurnMessage[] = [];
  for (const entry of state.entries) {
    if (entry.t === 'note') messages.push({ role: 'user', content: entry.text });
    if (entry.t !== 'turn') continue;
    messages.push(entry.message);
    for (const planned of entry.calls) {
      messages.push({ role: 'tool', tool_call_id: planned.id, content: toolContent(planned, state) });
    }
  }
  return messages;
}

/** The messages that ask for the answer; with `soFar`, for the rest of one that was cut. */
export function answerMessages(state: ResearchState, prompts: Prompts, options: { soFar: string }): TurnMessage[] {
  const sources = state.sources.all().map((source) => `[${source.id}] ${source.title || source.url}`);
  const ask = prompts.answer({
    forced: state.forced ? `Research has ended early (${state.forced.why}); say what remains open.` : '',
    sources: sources.length > 0 ? sources.join('; ') : 'none',
  });
  const messages: TurnMessage[] = [{ role: 'user', content: ask }];
  if (options.soFar === '') return messages;
  return [
    ...messages,
    { role: 'assistant', content: options.soFar },
    { role: 'user', content: prompts.continueAnswer() },
  ];
}

function toolContent(planned: PlannedCall, state: ResearchState): string {
  if ('refused' in planned) return planned.refused;
  const result = state.results.get(planned.call);
  return result ? fence(result.result) : 'The call was interrupted.';
}

/** Marks text from outside as data. The closing mark inside it is broken, so that it cannot end the fence. */
export function fence(text: string): string {
  return `<tool_result>\n${text.replaceAll(/<(\/?)tool_result/gi, '<$1tool\u200b_result')}\n</tool_result>`;
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

/** The text parts of a message, joined. */
export function textOf(message: ConversationMessage): string {
  return message.content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n');
}
