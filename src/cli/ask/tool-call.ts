import { isObject } from '../../base/json.ts';

/** A tool call as the command line shows it, in whichever grammar the run has its items. */
export interface ShownCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
  /** JSON text where there is one. */
  result: string | undefined;
  failed: boolean;
  /** Addresses that a search met or a call opened, where the item tells them and no result. */
  met: string[];
}

/** The call that an item is: this gateway's own, or one of OpenAI's (`profile: openai`). Undefined for other items. */
export function callOf(item: unknown): ShownCall | undefined {
  if (!isObject(item) || typeof item.id !== 'string') return undefined;
  const shown = (name: string, args: unknown, more: Partial<ShownCall> = {}): ShownCall => ({
    id: String(item.id),
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    result: undefined,
    failed: item.status === 'failed',
    met: [],
    ...more,
  });
  const action = isObject(item.action) ? item.action : {};
  switch (item.type) {
    case 'tool_call':
      return shown(String(item.name), item.arguments, { result: textOf(item.result) });
    case 'web_search_call': {
      if (action.type === 'open_page')
        return shown('fetch_url_content', { url: action.url }, { met: urlsOf([{ url: action.url }]) });
      const queries = Array.isArray(action.queries) ? action.queries : [action.query].filter(Boolean);
      return shown('web_search', { queries }, { met: urlsOf(action.sources) });
    }
    case 'file_search_call':
      return shown('file_search', { queries: item.queries });
    case 'code_interpreter_call':
      return shown('execute_python', { code: item.code });
    case 'mcp_call': {
      const failed = item.status === 'failed' || (item.error !== undefined && item.error !== null);
      return shown(`${item.server_label}.${item.name}`, item.arguments, { result: textOf(item.output), failed });
    }
    case 'mcp_list_tools':
      return shown(`tools of ${item.server_label}`, '{}', { failed: typeof item.error === 'string' });
    default:
      return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The addresses in a list of sources or results. */
export function urlsOf(sources: unknown): string[] {
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((source) => (isObject(source) && typeof source.url === 'string' ? [source.url] : []));
}
