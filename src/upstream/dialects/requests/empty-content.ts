import type { Lesson } from './traits.ts';

/** Servers and chat templates that cannot read `content: null` beside tool calls. */
export const learnEmptyContent: Lesson = ({ text, body }, traits) => {
  if (traits.emptyContent === 'text' || !hasNullContent(body.messages)) return false;
  const refused =
    /content.{0,80}(?:null|none|required|missing|must be a string|valid string|expected a? ?(?:string|sequence)|empty)/is.test(
      text,
    ) || /(?:null|none|missing|required).{0,80}content|NoneType/is.test(text);
  if (refused) traits.emptyContent = 'text';
  return refused;
};

function hasNullContent(messages: unknown): boolean {
  return Array.isArray(messages) && messages.some((message) => message?.content === null);
}
