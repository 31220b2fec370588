import type { ApprovalRule } from '../run/request.ts';

/** Calls of MCP servers that wait for the client's approval (docs/api.md, "Approving calls of MCP servers"). */

/** Whether a call of the tool `name` needs the client's approval. */
export function needsApproval(
  name: string,
  { tools, approvals = [] }: { tools: readonly { name: string }[]; approvals?: readonly ApprovalRule[] | undefined },
): boolean {
  const rule = approvals.find(({ server }) => name.startsWith(`${server}.`));
  if (!rule || tools.some((own) => own.name === name)) return false;
  const tool = name.slice(rule.server.length + 1);
  const { always, never } = rule;
  if (always?.includes(tool)) return true;
  return never ? !never.includes(tool) : !always;
}
