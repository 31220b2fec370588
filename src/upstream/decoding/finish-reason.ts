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
  max_length: 'length',
  token_limit: 'length',
  model_context_window_exceeded: 'length',
  safety: 'content_filter',
  image_safety: 'content_filter',
  blocklist: 'content_filter',
  blocked: 'content_filter',
  spii: 'content_filter',
  contentfilter: 'content_filter',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  moderation: 'content_filter',
  refusal: 'content_filter',
  sensitive: 'content_filter',
  prohibited_content: 'content_filter',
  recitation: 'content_filter',
  error: 'broken',
  abort: 'broken',
  aborted: 'broken',
  cancelled: 'broken',
  canceled: 'broken',
  failed: 'broken',
  timeout: 'broken',
  interrupted: 'broken',
  internal_error: 'broken',
  server_error: 'broken',
  engine_overloaded: 'broken',
  malformed_function_call: 'broken',
  malformed_model_output: 'broken',
  malformed_tool_use: 'broken',
  network_error: 'broken',
  insufficient_system_resource: 'broken',
};

/** The meaning of a `finish_reason`, or undefined where the value tells of no end. Unknown words are a `stop`. */
export function readFinishReason(value: unknown): StreamEnd | undefined {
  if (typeof value !== 'string' || value === '' || value === 'null') return undefined;
  return MEANING[value.toLowerCase().replaceAll(/[\s-]/g, '_')] ?? 'stop';
}
