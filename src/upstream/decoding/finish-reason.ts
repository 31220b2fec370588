import type { FinishReason } from '../turn.ts';

/** What a provider's `finish_reason` means; `broken`: the provider gave up, which is a failure of the turn. */
export type StreamEnd = FinishReason | 'broken';

const MEANING: Readonly<Record<string, StreamEnd>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  safety: 'content_filter',
  refusal: 'content_filter',
  sensitive: 'content_filter',
  prohibited_content: 'content_filter',
  recitation: 'content_filter',
  error: 'broken',
  abort: 'broken',
  aborted: 'broken',
  cancelled: 'broken',
  network_error: 'broken',
  insufficient_system_resource: 'broken',
};

/** The meaning of a `finish_reason`, or undefined where the value tells of no end. Unknown words are a `stop`. */
export function readFinishReason(value: unknown): StreamEnd | undefined {
  if (typeof value !== 'string' || value === '' || value === 'null') return undefined;
  return MEANING[value.toLowerCase()] ?? 'stop';
}
