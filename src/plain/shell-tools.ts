import type { z } from 'zod';
import type { JsonObject } from '../base/json.ts';
import { isObject, parseJson } from '../base/json.ts';
import { execAction, patchOperation, shellAction } from '../protocol/openai/items.ts';
import type { OfferedFunction, ShellTool } from '../research/run/request.ts';

/**
 * Offers OpenAI's tools that run at the client as functions, so that every model can call them over any wire. A function is
 * named after the type of its tool.
 */

const text = { type: 'string' };
const count = { type: 'integer', minimum: 1 };

/** How many commands one call may have, because each has its own events. */
const MAX_COMMANDS = 100;

const TOOLS: Record<ShellTool, { description: string; parameters: JsonObject; arguments: z.ZodType<JsonObject> }> = {
  local_shell: {
    description: "Runs one program on the user's machine and gives what it printed.",
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'array', items: text, description: 'The program and its arguments, such as ["ls", "-l"].' },
        env: { type: 'object', additionalProperties: text, description: 'Variables of the environment.' },
        working_directory: text,
        timeout_ms: count,
        user: { ...text, description: 'The user to run as.' },
      },
      required: ['command'],
    },
    arguments: execAction.refine(({ command }) => command.length > 0),
  },
  shell: {
    description: "Runs commands in a shell on the user's machine and gives what each printed and its exit code.",
    parameters: {
      type: 'object',
      properties: {
        commands: { type: 'array', items: text, description: 'Command lines, such as ["ls -l", "git status"].' },
        timeout_ms: { ...count, description: 'For each command, in milliseconds.' },
        max_output_length: { ...count, description: 'The most characters to give of what a command printed.' },
      },
      required: ['commands'],
    },
    arguments: shellAction.refine(({ commands }) => commands.length > 0 && commands.length <= MAX_COMMANDS),
  },
  apply_patch: {
    description:
      "Creates, changes or deletes one file on the user's machine. `diff` is needed to create or change one. To create: " +
      'every line of the file behind a +. To change: for each place a line @@, which may go on with the line of the ' +
      'class or function around it, then the lines there: behind a space those that stay, with about three before and ' +
      'after, behind a - those that go, behind a + those that come. There are no line numbers.',
    parameters: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { ...text, description: 'Of the file, relative to the working directory.' },
        diff: text,
      },
      required: ['type', 'path'],
    },
    arguments: patchOperation,
  },
};

/** The function that a tool is offered as. `hint`: the client's addition to the description. */
export function offerShell(tool: ShellTool, hint = ''): OfferedFunction {
  const { description, parameters } = TOOLS[tool];
  return { name: tool, description: description + hint, parameters, shell: tool };
}

/**
 * The arguments of a call as JSON that fits its item; undefined if they do not fit. A single command may be a text instead
 * of a list, and null counts as absent.
 */
export function shellArguments(tool: ShellTool, written: string): string | undefined {
  const given = parseJson(written);
  if (!isObject(given)) return undefined;
  const present = Object.entries(given).filter(([, value]) => value !== null);
  const listed = present.map(([name, value]) => [
    name,
    name === 'commands' && typeof value === 'string' ? [value] : value,
  ]);
  const read = TOOLS[tool].arguments.safeParse(Object.fromEntries(listed));
  return read.success ? JSON.stringify(read.data) : undefined;
}

/** What the model is told about a call whose arguments do not fit. */
export function shellRefusal(tool: ShellTool): string {
  return `Not made: the arguments of ${tool} are not as its schema says. Call it again with the right ones.`;
}
