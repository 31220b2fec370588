import { isJsonObject, type JsonValue } from '../../base/json.ts';
import type { Tool, ToolOutput } from '../tool.ts';

/**
 * Tokens with which chat templates mark speakers, and with which models without native calls request tools:
 * `<|im_start|>`, `<｜User｜>`, `<start_of_turn>`, `[INST]`, `<<SYS>>`, `</s>`, `<tool_call>`, `<function=...>`. Pages only
 * quote them, at best, but some servers turn the quoted text into real tokens.
 */
const CONTROL =
  /<(?=[|｜/]?[|｜]?[\w▁ ./-]{1,60}[|｜]>)|<(?=\/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_header_id|end_header_id|start_of_image|end_of_utterance|think|thinking|tool_calls?|tool_response|tool_results?|tool_code|function_calls?|function_results?|function=[\w.-]{1,64}|parameter=[\w.-]{1,64}|invoke name=[^<>]{1,200})>)|<(?=<\/?SYS>>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|gMASK|sMASK|BEGIN_OF_TEXT)\])/giu;

/** Puts a space after the first character of each control token, so that the model reads it instead of obeying it. */
export function breakControlTokens(text: string): string {
  return text.replace(CONTROL, '$& ');
}

/** Wraps a tool so that its results, all of which come from outside, carry no control tokens of chat templates. */
export function withoutControlTokens(tool: Tool): Tool {
  return {
    ...tool,
    async call(args, context) {
      const output: ToolOutput = await tool.call(args, context);
      return {
        ...output,
        sources: output.sources.map((source) => ({
          ...source,
          title: breakControlTokens(source.title),
          snippet: breakControlTokens(source.snippet),
        })),
        result: (sourceId) => breakTokensIn(output.result(sourceId)),
      };
    },
  };
}

function breakTokensIn(value: JsonValue): JsonValue {
  if (typeof value === 'string') return breakControlTokens(value);
  if (Array.isArray(value)) return value.map(breakTokensIn);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [breakControlTokens(key), breakTokensIn(part)]));
}
