import { z } from 'zod';

/**
 * Calls of OpenAI's tools that run at the client, a shell and an editor of files, and their events
 * (docs/api.md, "Responses of plain models").
 */

const status = z.enum(['in_progress', 'completed', 'incomplete']);
const positive = z.int().positive();

/** One program with its arguments. What is not asked for is absent: clients take no null. */
export const execAction = z.object({
  type: z.literal('exec').default('exec'),
  command: z.array(z.string()),
  env: z.record(z.string(), z.string()).default({}),
  timeout_ms: positive.optional(),
  user: z.string().optional(),
  working_directory: z.string().optional(),
});

/** Lines for a shell. */
export const shellAction = z.object({
  commands: z.array(z.string()),
  timeout_ms: positive.nullable().default(null),
  /** In characters. */
  max_output_length: positive.nullable().default(null),
});

/** A change of one file; `diff` is in the V4A format. */
export const patchOperation = z.discriminatedUnion('type', [
  z.object({ type: z.literal('create_file'), path: z.string().min(1), diff: z.string() }),
  z.object({ type: z.literal('update_file'), path: z.string().min(1), diff: z.string() }),
  z.object({ type: z.literal('delete_file'), path: z.string().min(1) }),
]);

export const localShellCallItem = z.object({
  id: z.string().startsWith('lsh_'),
  type: z.literal('local_shell_call'),
  call_id: z.string(),
  action: execAction,
  status,
});

export const shellCallItem = z.object({
  id: z.string().startsWith('sh_'),
  type: z.literal('shell_call'),
  call_id: z.string(),
  action: shellAction,
  environment: z.object({ type: z.literal('local') }),
  status,
});

export const applyPatchCallItem = z.object({
  id: z.string().startsWith('apc_'),
  type: z.literal('apply_patch_call'),
  call_id: z.string(),
  operation: patchOperation,
  status,
});

export const shellItems = [localShellCallItem, shellCallItem, applyPatchCallItem] as const;

const ofCommand = {
  sequence_number: z.int().positive(),
  output_index: z.int().nonnegative(),
  command_index: z.int().nonnegative(),
};

/** The events of these items, besides those that every item has. */
export const shellEvents = [
  z.object({ type: z.literal('response.shell_call_command.added'), ...ofCommand, command: z.string() }),
  z.object({ type: z.literal('response.shell_call_command.delta'), ...ofCommand, delta: z.string() }),
  z.object({ type: z.literal('response.shell_call_command.done'), ...ofCommand, command: z.string() }),
];

export type ShellItem = z.output<(typeof shellItems)[number]>;
