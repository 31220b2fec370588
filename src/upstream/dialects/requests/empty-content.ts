import type { Trait } from './trait.ts';

interface EmptyContent {
  /** The content of an assistant message without text: null, or an empty string. */
  emptyContent: 'null' | 'text';
}

const REFUSED = [
  /content.{0,80}(?:null|none|required|missing|must be a string|valid string|expected a? ?(?:string|sequence)|empty)/is,
  /(?:null|none|missing|required).{0,80}content|NoneType/is,
];

/** Some servers and chat templates cannot read `content: null` beside tool calls. */
export const emptyContent: Trait<EmptyContent> = {
  start: () => ({ emptyContent: 'null' }),
  learn({ text, body: { messages } }, traits) {
    const isNull = Array.isArray(messages) && messages.some((message) => message?.content === null);
    if (!isNull || !REFUSED.some((refusal) => refusal.test(text))) return false;
    traits.emptyContent = 'text';
    return true;
  },
  shapeChat(body, traits) {
    if (traits.emptyContent === 'null') return;
    body.messages = body.messages.map((message) => (message.content === null ? { ...message, content: '' } : message));
  },
};
