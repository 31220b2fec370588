import { isObject, type JsonObject, scalarText } from '../../base/json.ts';
import type { AssistantMessage, TurnMessage } from '../turn.ts';

/** What one run learned about sending its own history back. */
export interface RunTraits {
  /** Earlier turns whose reasoning was refused, by `replayKey`. */
  readonly refusedReasoning: Set<string>;
  /** The provider wants a thinking block that is gone, so later requests do not ask for thinking. */
  withoutThinking: boolean;
}

export function newRunTraits(): RunTraits {
  return { refusedReasoning: new Set(), withoutThinking: false };
}

/** A key for the reasoning of a turn: its signature, its ciphertext, or an id. */
function replayKey({ replay }: AssistantMessage): string | undefined {
  if (!replay) return undefined;
  const parts = Object.values(replay.fields).flatMap((field) => (Array.isArray(field) ? field : []));
  for (const part of parts) {
    if (!isObject(part)) continue;
    const key = part.signature ?? part.encrypted_content ?? part.data ?? part.id;
    if (typeof key === 'string' && key !== '') return key;
  }
  return JSON.stringify(replay.fields);
}

/** Whether the stored fields of a message hold reasoning, visible or not. */
export function hasReasoning({ replay }: AssistantMessage): boolean {
  if (!replay) return false;
  const { wire, content, output } = replay.fields;
  if (wire === undefined) return true;
  const parts = [content, output].flatMap((field) => (Array.isArray(field) ? field : []));
  return parts.some((part) => isObject(part) && /^(?:reasoning|(?:redacted_)?thinking)$/.test(scalarText(part.type)));
}

/** Refusals of replayed reasoning: of another key, model or conversation, or by a fault of the service. */
const REFUSED: readonly RegExp[] = [
  /encrypted[ _]content.{0,200}(?:could not be|cannot be|invalid|not be) ?(?:verified|decrypted|parsed)?/is,
  /invalid_encrypted_content/i,
  /without its required (?:following item|['"`]?reasoning)/i,
  /item with id .{0,80} not found/i,
  /missing required field [`'"]?summary/i,
  /signature.{0,60}(?:thinking|field required|invalid)|(?:thinking|invalid).{0,60}signature/is,
  /thinking.{0,60}blocks?.{0,120}(?:cannot be modified|must remain)/is,
  /bound to a different conversation/i,
  /cannot contain [`'"]?thinking/i,
  // llama.cpp, of reasoning without its text.
  /cannot determine type of 'item'|item\['content'\] is (?:empty|not an array)/i,
];

const WANTS_THINKING = /expected [`'"]?thinking/i;

/**
 * Learns from the refusal of a history to leave its reasoning out, or not to ask for thinking. True if the request may
 * succeed in its new form.
 */
export function learnReplayRefusal(text: string, messages: readonly TurnMessage[], run: RunTraits): boolean {
  if (WANTS_THINKING.test(text) && !run.withoutThinking) {
    run.withoutThinking = true;
    return true;
  }
  if (!REFUSED.some((refusal) => refusal.test(text))) return false;
  let added = 0;
  for (const message of messages) {
    const key = message.role === 'assistant' ? replayKey(message) : undefined;
    if (key === undefined || run.refusedReasoning.has(key)) continue;
    run.refusedReasoning.add(key);
    added += 1;
  }
  return added > 0;
}

/** Whether the reasoning of an earlier turn was refused in this run. */
export function isRefused(message: AssistantMessage, { refusedReasoning }: RunTraits): boolean {
  return refusedReasoning.size > 0 && refusedReasoning.has(replayKey(message) ?? '');
}

/**
 * The parts of an earlier turn to send back, if this provider and model wrote it and have not refused it since: its
 * reasoning is encrypted or signed, and nobody else can read it.
 */
export function replayedParts(
  message: AssistantMessage,
  field: 'content' | 'output',
  { provider, model, run }: { provider: string; model: string; run: RunTraits },
): JsonObject[] | undefined {
  const { replay } = message;
  if (replay?.provider !== provider || replay.fields.model !== model) return undefined;
  if (isRefused(message, run)) return undefined;
  const parts = replay.fields[field];
  return Array.isArray(parts) ? parts.filter((part): part is JsonObject => isObject(part)) : undefined;
}
