import type { OutputItem } from '../../protocol/items.ts';
import { asToolCall } from '../../protocol/openai/as-tool-call.ts';

/** A tool call as the command line shows it, whichever item types the run uses. */
export interface CallView {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
  /** JSON text, if there is a result. */
  result?: string | null | undefined;
  failed: boolean;
}

/** The tool call in an item of the gateway's own types or of OpenAI's (`profile: openai`). Undefined for other items. */
export function callOf(item: OutputItem): CallView | undefined {
  switch (item.type) {
    case 'tool_call':
      return { ...item, failed: item.status === 'failed' };
    case 'web_search_call':
    case 'file_search_call':
    case 'code_interpreter_call':
    case 'mcp_call': {
      const failed = item.status === 'failed' || (item.type === 'mcp_call' && item.error !== null);
      const { result, ...call } = asToolCall(item);
      const isShown = !failed && (item.type === 'web_search_call' || item.type === 'mcp_call');
      return { id: item.id, ...call, failed, ...(isShown && { result }) };
    }
    case 'mcp_list_tools':
      return { id: item.id, name: `tools of ${item.server_label}`, arguments: '{}', failed: item.error != null };
    default:
      return undefined;
  }
}
