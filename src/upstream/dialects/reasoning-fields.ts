/**
 * The model's reasoning in a delta, from the fields in which providers put it, in order of preference. A provider that
 * fills several of them repeats itself (OpenRouter: `reasoning` and `reasoning_details`), so only the first is read.
 */
export function reasoningOfDelta(delta: Record<string, unknown>): string {
  // DeepSeek, Qwen, Moonshot, xAI, Zhipu, llama.cpp, SGLang, vLLM.
  if (typeof delta.reasoning_content === 'string' && delta.reasoning_content !== '') return delta.reasoning_content;
  // OpenRouter, Cerebras, Groq, Ollama, newer vLLM.
  if (typeof delta.reasoning === 'string' && delta.reasoning !== '') return delta.reasoning;
  if (delta.reasoning_details !== undefined) return reasoningOfDetails(delta.reasoning_details);
  if (typeof delta.thinking === 'string') return delta.thinking;
  if (typeof delta.reasoning_text === 'string') return delta.reasoning_text;
  return '';
}

/** The readable part of `reasoning_details` (OpenRouter): texts and summaries, not what is encrypted. */
function reasoningOfDetails(details: unknown): string {
  if (!Array.isArray(details)) return '';
  let text = '';
  for (const detail of details) {
    if (typeof detail?.text === 'string') text += detail.text;
    else if (typeof detail?.summary === 'string') text += detail.summary;
  }
  return text;
}
