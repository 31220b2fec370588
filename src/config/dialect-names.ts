/** The values of `providers.<name>.dialect`: families of providers whose differences are known in advance. */
export const DIALECT_NAMES = [
  'generic',
  'openai',
  'mistral',
  'open_think',
  'reasoning_required',
  'no_replay',
  'cache_marks',
  'text_tools',
  'plain_chat',
] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
