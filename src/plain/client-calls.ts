import { isObject, parseJson } from '../base/json.ts';
import { asksFirst } from '../research/calls/approvals.ts';
import { clientNames, type FunctionCall, type ShellTool } from '../research/run/steps.ts';
import type { TurnToolCall } from '../upstream/turn.ts';
import type { PlainRequest } from './request.ts';
import { shellArguments } from './shell-tools.ts';

/** Calls of tools that run at the client. */

/** A call as the client sees it: what was offered with its namespace is called by both names. */
export function functionCall({ id, name, arguments: args }: TurnToolCall, request: PlainRequest): FunctionCall {
  const { tools } = request;
  const offered = tools.find((tool) => tool.name === name);
  if (offered?.custom) return { callId: id, name, arguments: textIn(args), as: 'custom' };
  const shell = offered?.shell;
  if (shell) return { callId: id, name, arguments: shellArguments(shell, args) ?? args, as: shell };
  if (asksFirst(name, request)) return { callId: id, name, arguments: args, as: 'approval' };
  return { callId: id, ...clientNames(name, tools), arguments: args };
}

export function shellTool(name: string, { tools }: PlainRequest): ShellTool | undefined {
  return tools.find((tool) => tool.name === name)?.shell;
}

/** Whether a call is one of the client's shell that its item has no words for: the model is told so, and calls again. */
export function isUnreadable({ name, arguments: args }: TurnToolCall, request: PlainRequest): boolean {
  const shell = shellTool(name, request);
  return shell !== undefined && shellArguments(shell, args) === undefined;
}

/** The text of a custom tool; a model that wrote it without the object around it meant the same. */
function textIn(args: string): string {
  const value = parseJson(args);
  return isObject(value) && typeof value.input === 'string' ? value.input : args;
}
