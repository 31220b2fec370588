import { isObject } from '../../base/json.ts';

/** A tool call as the command line shows it, whichever item types the run uses. */
export interface CallView {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
  /** JSON text, if there is a result. */
  result: string | undefined;
  failed: boolean;
  /** URLs that a search found or a call opened, if the item lists them instead of a result. */
  urls: string[];
}

/** The tool call in an item of the gateway's own types or of OpenAI's (`profile: openai`). Undefined for other items. */
export function callOf(item: unknown): CallView | undefined {
  if (!isObject(item) || typeof item.id !== 'string') return undefined;
  const view = (name: string, args: unknown, extra: Partial<CallView> = {}): CallView => ({
    id: String(item.id),
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    result: undefined,
    failed: item.status === 'failed',
    urls: [],
    ...extra,
  });
  const action = isObject(item.action) ? item.action : {};
  switch (item.type) {
    case 'tool_call':
      return view(String(item.name), item.arguments, { result: textOf(item.result) });
    case 'web_search_call': {
      if (action.type === 'open_page')
        return view('fetch_url_content', { url: action.url }, { urls: urlsOf([{ url: action.url }]) });
      const queries = Array.isArray(action.queries) ? action.queries : [action.query].filter(Boolean);
      return view('web_search', { queries }, { urls: urlsOf(action.sources) });
    }
    case 'file_search_call':
      return view('file_search', { queries: item.queries });
    case 'code_interpreter_call':
      return view('execute_python', { code: item.code });
    case 'mcp_call': {
      const failed = item.status === 'failed' || (item.error !== undefined && item.error !== null);
      return view(`${item.server_label}.${item.name}`, item.arguments, { result: textOf(item.output), failed });
    }
    case 'mcp_list_tools':
      return view(`tools of ${item.server_label}`, '{}', { failed: typeof item.error === 'string' });
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
