import { isObject, parseJson } from '../../base/json.ts';
import { UNREACHABLE_TOOL } from '../../tools/mcp/unreachable-tool.ts';
import type { ApprovalRule } from '../run/request.ts';

/** Calls of MCP servers that wait for the client's approval (docs/api.md, "Approving calls of MCP servers"). */

/**
 * Whether a call needs the client's approval. While a server cannot be reached, one tool stands for all of its tools and is
 * given the name of the one to call: its calls need the approval of either. `arguments`: absent if they are not known yet.
 */
export function needsApproval(
  { name, arguments: written }: { name: string; arguments?: string | undefined },
  { tools, approvals = [] }: { tools: readonly { name: string }[]; approvals?: readonly ApprovalRule[] | undefined },
): boolean {
  const rule = approvals.find(({ server }) => name.startsWith(`${server}.`));
  if (!rule || tools.some((own) => own.name === name)) return false;
  const tool = name.slice(rule.server.length + 1);
  if (tool === UNREACHABLE_TOOL && written === undefined) return true;
  const named = tool === UNREACHABLE_TOOL ? parseJson(written ?? '') : undefined;
  const called = [tool, ...(isObject(named) && typeof named.tool === 'string' ? [named.tool] : [])];
  const { always, never } = rule;
  return called.some((one) => always?.includes(one) || (never ? !never.includes(one) : !always));
}
