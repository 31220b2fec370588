import type { OutputItem } from '../../protocol/items.ts';

/** A tool call as the command line shows it, whichever item types the run uses. */
export interface CallView {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
  /** JSON text, if there is a result. */
  result?: string | null | undefined;
  failed: boolean;
  /** URLs that a search found or a call opened, if the item lists them instead of a result. */
  urls?: string[];
}

/** The tool call in an item of the gateway's own types or of OpenAI's (`profile: openai`). Undefined for other items. */
export function callOf(item: OutputItem): CallView | undefined {
  switch (item.type) {
    case 'tool_call':
      return { ...item, failed: item.status === 'failed' };
    case 'web_search_call': {
      const { id, action, status } = item;
      const failed = status === 'failed';
      if (action.type === 'open_page') {
        const args = JSON.stringify({ url: action.url });
        return { id, name: 'fetch_url_content', arguments: args, failed, urls: [action.url] };
      }
      const args = JSON.stringify({ queries: action.queries });
      return { id, name: 'web_search', arguments: args, failed, urls: action.sources.map(({ url }) => url) };
    }
    case 'file_search_call': {
      const { id, queries, status } = item;
      return { id, name: 'file_search', arguments: JSON.stringify({ queries }), failed: status === 'failed' };
    }
    case 'code_interpreter_call': {
      const { id, code, status } = item;
      return { id, name: 'execute_python', arguments: JSON.stringify({ code }), failed: status === 'failed' };
    }
    case 'mcp_call': {
      const failed = item.status === 'failed' || item.error !== null;
      return { ...item, name: `${item.server_label}.${item.name}`, result: item.output, failed };
    }
    case 'mcp_list_tools':
      return { id: item.id, name: `tools of ${item.server_label}`, arguments: '{}', failed: item.error != null };
    default:
      return undefined;
  }
}
