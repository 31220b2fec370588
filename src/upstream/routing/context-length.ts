/**
 * Whether a provider's error says that the request does not fit the model's context. Providers agree neither on a
 * code nor on a status, so known wordings are matched.
 */
export function saysContextLength(error: string): boolean {
  const text = error.slice(0, MAX_EXAMINED);
  return !OUTPUT_ONLY.test(text) && WORDINGS.some((wording) => wording.test(text));
}

/** How much of an error is examined, in UTF-16 code units: some patterns start anew at every word. */
const MAX_EXAMINED = 4000;

/** Complaints about `max_tokens` alone (OpenAI: "This model supports at most 16384 completion tokens"). */
const OUTPUT_ONLY = /supports at most \d+ (?:completion|output) tokens/i;

const WORDINGS: readonly RegExp[] = [
  // Error codes: OpenAI and Azure, Cerebras and others, llama.cpp, Copilot, Anthropic.
  /context_length_exceeded|context_window_exceeded|exceed_context_size|max_prompt_tokens_exceeded|request_too_large/i,
  // OpenAI, vLLM, SGLang, OpenRouter, DeepSeek: "maximum context length is 4096 tokens".
  /(?:maximum|max|allowed|model'?s?|available|limited?) (?:input |total )?context (?:length|size|window|limit)/i,
  // "exceeds the context window", "exceed context limit", "longer than the model's context length".
  /(?:exceeds?|exceeded|exceeding|longer than|larger than|over|beyond)\b.{0,60}\bcontext[ _-]?(?:length|size|window|limit)?/i,
  /context[ _-]?(?:length|size|window|limit)\b.{0,40}\b(?:exceed|too (?:long|large)|overflow|reached|full)/i,
  // Anthropic, Bedrock, Cohere, Together.
  /\b(?:prompt|input|request|messages?|conversation)\b(?: \w+){0,3} (?:is|are|was|were) too (?:long|large)\b/i,
  /\btoo many (?:input |prompt |total )?tokens\b(?!.{0,30}\b(?:per|minute|day|requests)\b)/i,
  // Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)".
  /(?:input|prompt)(?: token count| tokens?| length)?\b.{0,60}\bexceeds?\b.{0,40}\b(?:maximum|limit|tokens)/i,
  // xAI: "This model's maximum prompt length is 131072".
  /maximum (?:prompt|input|sequence) length/i,
  // Groq, OpenAI: "Please reduce the length of the messages or completion".
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  // Qwen (DashScope): "Range of input length should be [1, 30720]".
  /range of input length/i,
  // TGI: "`inputs` tokens + `max_new_tokens` must be <= 4096"; vLLM: "max_tokens must be at least 1, got -312".
  /`?inputs`? tokens? \+|must have less than \d+ tokens|max_(?:completion_)?tokens must be at least 1, got -\d+/i,
  // Mistral: "Prompt contains 40000 tokens ..., too large for model with 32768 maximum context length".
  /tokens.{0,40}too large for model/i,
  // LM Studio: "the model is loaded with context length of only 4096 tokens, which is not enough"; SiliconFlow: "length of
  // prompt_tokens (40000) must be less than max_seq_len (32768)".
  /context length of only \d+|prompt_tokens\b.{0,40}\bless than max_seq_len/i,
  // Doubao: "Total tokens of image and text exceed max message tokens".
  /tokens?\b.{0,40}\bexceeds?\b.{0,20}\bmax(?:imum)?\b/i,
  // Moonshot: "Your request exceeded model token limit: 131072".
  /exceed\w* (?:the )?(?:model(?:'s)? )?(?:total |maximum |max )?token limit(?!.{0,20}per)/i,
  // Zhipu, Moonshot, Qwen in Chinese.
  /超长|超出.{0,12}(?:长度|上下文)|超过.{0,12}(?:长度|上下文|token)|上下文.{0,10}(?:过长|超)/i,
];
