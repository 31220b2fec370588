import { createHash } from 'node:crypto';
import type { Lesson, RequestTraits } from './traits.ts';

/** The longest id that OpenAI takes. */
const LONGEST = 40;

/** Mistral takes ids of nine letters and digits only, which ids of other providers are not. */
export const learnToolCallIds: Lesson = ({ text }, traits) => {
  if (traits.toolCallIds === 'short' || !/tool.?call.?id.{0,80}(?:length of 9|a-z, A-Z, 0-9)/is.test(text))
    return false;
  traits.toolCallIds = 'short';
  return true;
};

/** The id to send for a call; the same one always becomes the same. */
export function toolCallId(id: string, traits: RequestTraits): string {
  if (traits.toolCallIds === 'any') return id.length <= LONGEST ? id : hashed(id, LONGEST);
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashed(id, 9);
}

function hashed(id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length);
}
