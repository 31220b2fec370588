/** What is known of a family of providers beforehand, by the names that `providers.<name>.dialect` may have. */
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
