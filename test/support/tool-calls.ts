import { isJsonObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { Tool, ToolOutput } from '../../src/tools/tool.ts';

/** The output of a tool as in a run: sources numbered in order, the result as an object. */
export interface CalledTool {
  output: ToolOutput;
  result: { [key: string]: JsonValue };
}

/** Calls a tool like a run and numbers its sources 1, 2, 3. */
export async function callTool(
  tool: Tool,
  args: JsonObject,
  options: { signal?: AbortSignal } = {},
): Promise<CalledTool> {
  const signal = options.signal ?? new AbortController().signal;
  const output = await tool.call(args, { signal, log: silentLogger });
  const urls = [...new Set(output.sources.map(({ url }) => url))];
  const result = output.result((url) => {
    const at = urls.indexOf(url);
    if (at < 0) throw new Error(`${url} is not among the sources`);
    return at + 1;
  });
  if (!isJsonObject(result)) throw new Error('the result is not an object');
  return { output, result };
}

/** The `results` of a search call. */
export function searchResults(
  called: CalledTool,
): { title: string; url: string; snippet: string; source_id: number }[] {
  const { results } = called.result;
  if (!Array.isArray(results)) throw new Error('there are no results');
  return results.map((entry) => {
    if (!isJsonObject(entry)) throw new Error('a result is not an object');
    const { title, url, snippet, source_id } = entry;
    return { title: String(title), url: String(url), snippet: String(snippet), source_id: Number(source_id) };
  });
}
