import { z } from 'zod';

/**
 * The messages between the gateway and a sandbox process, one JSON line each. The process reads from its standard
 * input and writes to descriptor 3. Once code may run, each of its lines begins with the job's nonce, which Python
 * code cannot know: a line without it is a forgery and ends the run.
 */

/** The descriptor on which the sandbox process reports. */
export const REPORT_FD = 3;

/** The line that reports that the interpreter is loaded. */
export const READY_LINE = 'ready';

/** The job of a sandbox process, which takes only one. */
export interface Job {
  nonce: string;
  code: string;
  /** In characters. */
  limits: OutputLimits;
}

export interface OutputLimits {
  stdout: number;
  stderr: number;
  /** For `result` and for an error's message, each. */
  result: number;
}

const errorSchema = z.object({ code: z.string().max(64), message: z.string() });

/** How the code ended, as the driver reports it. */
export const outcomeSchema = z.object({ result: z.string().nullable(), error: errorSchema.optional() });
export type Outcome = z.infer<typeof outcomeSchema>;

/** A report of the sandbox process, without its nonce. */
export const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.object({ type: z.literal('cut'), stream: z.enum(['stdout', 'stderr']) }),
  z.object({ type: z.literal('end'), outcome: z.string() }),
]);
export type SandboxReport = z.infer<typeof reportSchema>;
