import type { ToolCallItem } from '../items.ts';
import type { OpenAiCall } from './items.ts';

/** What a call of OpenAI's item types tells, in the words of the gateway's own `tool_call` items. */
export function asToolCall(item: OpenAiCall): Pick<ToolCallItem, 'name' | 'arguments' | 'result'> {
  switch (item.type) {
    case 'web_search_call': {
      const { action } = item;
      if (action.type === 'open_page') return call('fetch_url_content', { url: action.url }, { url: action.url });
      const results = action.sources.map(({ url }) => ({ url }));
      return call('web_search', { queries: action.queries }, results.length > 0 ? { results } : undefined);
    }
    case 'file_search_call':
      return call('file_search', { queries: item.queries }, { results: item.results ?? [] });
    case 'code_interpreter_call': {
      const logs = item.outputs.map((output) => output.logs).join('\n');
      return { ...call('execute_python', { code: item.code }), result: logs };
    }
    case 'mcp_call': {
      const { server_label, name, arguments: args, output, error } = item;
      const failure = typeof error === 'string' ? error : error?.content.map(({ text }) => text).join('\n');
      return { name: `${server_label}.${name}`, arguments: args, result: output ?? failure ?? '' };
    }
  }
}

function call(name: string, args: object, result?: object): Pick<ToolCallItem, 'name' | 'arguments' | 'result'> {
  return { name, arguments: JSON.stringify(args), ...(result && { result: JSON.stringify(result) }) };
}
