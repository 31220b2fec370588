import { isObject, parseJson } from '../../base/json.ts';
import { counted } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { Claims } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { endsWithoutAnswer } from '../plan/substitute.ts';
import { isOwnTool } from './own-tools.ts';
import type { ResearchRequest } from './request.ts';
import type { ResearchState } from './state.ts';
import { addWarning } from './warnings.ts';

export interface EndingRun {
  request: Pick<ResearchRequest, 'warnings' | 'plan'> | undefined;
  state: ResearchState;
  annotations: readonly UrlCitation[];
  /** How well the answer is supported; null if that was not checked. */
  claims: Claims | null;
  completed: boolean;
}

/**
 * The warnings of an ended run (docs/api.md, "The response object"): those that were noted on the way, and those that
 * only its end can show.
 */
export function finalWarnings({ request, state, annotations, claims, completed }: EndingRun): Warning[] {
  // These are told however many others there are.
  const last = [
    ...doubtfulClaims(claims),
    ...(completed && !endsWithoutAnswer({ request, state }) && restsOnNothing(state, annotations) ? [NO_SOURCES] : []),
  ];
  const warnings = [...last];
  const found = [
    ...(request?.warnings ?? []),
    ...state.warnings,
    ...uselessTools(state),
    ...unreadableSources(annotations),
  ];
  for (const warning of found) addWarning(warnings, warning);
  return [...warnings.slice(last.length), ...last];
}

const NO_SOURCES: Warning = {
  code: 'no_sources',
  message: 'The answer rests on nothing that was retrieved: the model wrote it from memory.',
};

/** Whether the run found neither a source nor a result of an MCP server. Earlier sources count if this answer cites them. */
function restsOnNothing(state: ResearchState, annotations: readonly UrlCitation[]): boolean {
  if (annotations.some(({ source_id, verified }) => source_id !== null && verified)) return false;
  const { toolCalls, results } = state;
  if (state.hasServiceResults) return false;
  const found = results.values().some(({ sources }) => sources.length > 0);
  return !found && (toolCalls === 0 || state.sources.size === 0);
}

/** Warnings for tools whose every call failed. */
function uselessTools({ calls, results }: ResearchState): Warning[] {
  const outcomes = new Map<string, boolean>();
  for (const [call, { status, result }] of results) {
    const name = calls.get(call)?.name;
    if (name === undefined || isOwnTool(name) || (status === 'failed' && codeOf(result) === 'unknown_tool')) continue;
    outcomes.set(name, (outcomes.get(name) ?? false) || status === 'completed');
  }
  return [...outcomes]
    .filter(([, worked]) => !worked)
    .map(([name]) => ({ code: 'tool_unavailable', message: `Every call of ${name} failed.` }));
}

function codeOf(result: string): unknown {
  const value = parseJson(result);
  return isObject(value) && isObject(value.error) ? value.error.code : undefined;
}

/** Warnings for sources that the answer cites and that could not be read. */
function unreadableSources(annotations: readonly UrlCitation[]): Warning[] {
  return annotations
    .filter(({ source_id, verified }) => source_id !== null && !verified)
    .map(({ index, url }) => ({
      code: 'source_unreadable',
      message: `${index === null ? 'A source' : `Source [${index}]`} was listed by a search and could not be read: ${url}`,
    }));
}

/** A warning for sentences that their sources do not support, and for sentences that should cite a source. */
function doubtfulClaims(claims: Claims | null): Warning[] {
  if (!claims) return [];
  const { partial, none, checked, unmarked, unmarked_paths } = claims;
  const what = unmarked_paths ? 'value' : 'sentence';
  const which = unmarked_paths ? '' : ' with a figure or a name';
  const parts = [
    ...(partial + none > 0
      ? [`Not fully carried by their sources: ${partial + none} of ${counted(checked, what)}.`]
      : []),
    ...(unmarked > 0 ? [`Without a source: ${counted(unmarked, what)}${which}.`] : []),
  ];
  return parts.length === 0 ? [] : [{ code: 'unsupported_claims', message: parts.join(' ') }];
}
