/** The values of `providers.<name>.dialect`: families of providers whose differences are known in advance. */
export const DIALECT_NAMES = [
  'generic',
  'openai',
  'reasoning_required',
  'no_replay',
  'mistral',
  'cache_marks',
  'text_tools',
  'open_think',
  'plain_chat',
] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
