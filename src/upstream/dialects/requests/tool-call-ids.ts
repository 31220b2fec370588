import { hash } from 'node:crypto';
import type { Trait } from './trait.ts';

interface ToolCallIds {
  /** `short`: nine letters and digits (Mistral). */
  toolCallIds: 'any' | 'short';
}

/** The longest id that OpenAI accepts. */
const MAX_ID = 40;

/** Mistral accepts only ids of nine letters and digits, unlike those of other providers. */
export const toolCallIds: Trait<ToolCallIds> = {
  start: () => ({ toolCallIds: 'any' }),
  learn({ text }, traits) {
    const isRefused = /tool.?call.?id.{0,80}(?:length of 9|a-z, A-Z, 0-9)/is.test(text);
    if (traits.toolCallIds === 'short' || !isRefused) return false;
    traits.toolCallIds = 'short';
    return true;
  },
  findings: (learned, before) =>
    learned.toolCallIds === before.toolCallIds ? [] : ['ids of tool calls have nine characters'],
};

/** The id to send for a call; the same id always maps to the same. */
export function toolCallId(id: string, traits: ToolCallIds): string {
  if (traits.toolCallIds === 'any') return id.length <= MAX_ID ? id : hash('sha256', id).slice(0, MAX_ID);
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hash('sha256', id).slice(0, 9);
}
