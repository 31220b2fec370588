import { needsApproval } from '../research/calls/approvals.ts';
import type { ShellTool } from '../research/run/request.ts';
import { clientNames, type FunctionCall, searchResultOf } from '../research/run/steps.ts';
import { customText } from '../upstream/dialects/requests/tool-arguments.ts';
import type { TurnToolCall } from '../upstream/turn.ts';
import type { PlainRequest } from './request.ts';
import { shellArguments } from './shell-tools.ts';

/** A call as the client sees it: with name and namespace, if the function was offered with one. */
export function functionCall({ id, name, arguments: args }: TurnToolCall, request: PlainRequest): FunctionCall {
  const { tools } = request;
  const offered = tools.find((tool) => tool.name === name);
  if (offered?.custom) return { callId: id, ...clientNames(name, tools), arguments: customText(args), as: 'custom' };
  if (offered?.search) return { callId: id, name, arguments: args, as: 'search' };
  const shell = offered?.shell;
  if (shell) return { callId: id, name, arguments: shellArguments(shell, args) ?? args, as: shell };
  if (needsApproval({ name, arguments: args }, request)) return { callId: id, name, arguments: args, as: 'approval' };
  return { callId: id, ...clientNames(name, tools), arguments: args, ...searchResultOf(name, tools) };
}

/** Whether the client offered the tool that is called. Only such a call can be answered by the client. */
export function isOffered({ name }: TurnToolCall, { tools }: PlainRequest): boolean {
  return tools.some((tool) => tool.name === name);
}

export function shellTool(name: string, { tools }: PlainRequest): ShellTool | undefined {
  return tools.find((tool) => tool.name === name)?.shell;
}

/** Whether a call of a client's shell tool has arguments that do not fit its item. The model is told to call it again. */
export function isMalformed({ name, arguments: args }: TurnToolCall, request: PlainRequest): boolean {
  const shell = shellTool(name, request);
  return shell !== undefined && shellArguments(shell, args) === undefined;
}
