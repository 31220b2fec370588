import type { FinishReason } from '../turn.ts';

/** The meaning of a `finish_reason`; `broken`: the provider gave up, which is a failure of the turn. */
export type StreamEnd = FinishReason | 'broken';

const WORDS: Readonly<Record<StreamEnd, string>> = {
  stop: 'stop',
  length: 'length max_tokens max_output_tokens model_length max_length token_limit model_context_window_exceeded',
  tool_calls: 'tool_calls function_call tool_use',
  content_filter:
    'content_filter safety image_safety blocklist blocked spii contentfilter content_filtered guardrail_intervened ' +
    'moderation refusal sensitive prohibited_content recitation',
  broken:
    'error abort aborted cancelled canceled failed timeout interrupted internal_error server_error engine_overloaded ' +
    'malformed_function_call malformed_model_output malformed_tool_use network_error insufficient_system_resource',
};
const ENDS: readonly StreamEnd[] = ['stop', 'length', 'tool_calls', 'content_filter', 'broken'];
const MEANING = new Map(ENDS.flatMap((end) => WORDS[end].split(' ').map((word) => [word, end])));

/** The meaning of a `finish_reason`, or undefined for a value that means no end. Unknown words mean `stop`. */
export function readFinishReason(value: unknown): StreamEnd | undefined {
  if (typeof value !== 'string' || value === '' || value === 'null') return undefined;
  return MEANING.get(value.toLowerCase().replaceAll(/[\s-]/g, '_')) ?? 'stop';
}

/** Whether an answer that ended so was cut off, so that its last call may be incomplete. */
export function isCutOff(end: StreamEnd | undefined): boolean {
  return end === 'length' || end === 'content_filter';
}
