import { isJsonObject, type JsonValue } from '../../base/json.ts';
import type { Tool, ToolOutput } from '../tool.ts';

/**
 * Marks by which chat templates tell who speaks, and by which models without native calls ask for tools:
 * `<|im_start|>`, `<｜User｜>`, `<start_of_turn>`, `[INST]`, `<<SYS>>`, `</s>`, `<tool_call>`, `<function=...>`. In a page
 * they are quoted at best; some servers turn them into the tokens themselves.
 */
const CONTROL =
  /<(?=[|｜/]?[|｜]?[\w▁ ./-]{1,60}[|｜]>)|<(?=\/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_header_id|end_header_id|start_of_image|end_of_utterance|think|thinking|tool_calls?|tool_response|tool_results?|tool_code|function_calls?|function_results?|function=[\w.-]{1,64}|parameter=[\w.-]{1,64}|invoke name=[^<>]{1,200})>)|<(?=<\/?SYS>>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|gMASK|sMASK|BEGIN_OF_TEXT)\])/giu;

/** `text` with a space behind the first character of each such mark, so that it is read and not obeyed. */
export function breakControlTokens(text: string): string {
  return text.replace(CONTROL, '$& ');
}

/** A tool whose results carry no control tokens of chat templates: all of them come from outside. */
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
        result: (sourceId) => broken(output.result(sourceId)),
      };
    },
  };
}

function broken(value: JsonValue): JsonValue {
  if (typeof value === 'string') return breakControlTokens(value);
  if (Array.isArray(value)) return value.map(broken);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [breakControlTokens(key), broken(part)]));
}
