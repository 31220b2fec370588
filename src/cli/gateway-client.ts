import OpenAI, { APIConnectionError, APIError } from 'openai';
import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { withoutTrailing } from '../base/text.ts';
import { printable } from './printable.ts';

/** How long an answer that is no stream may take, in milliseconds. */
const ANSWER_MS = 30_000;

const errorBody = z.object({ message: z.string(), code: z.string().nullable() });

/** A client of a gateway like that of any other program. @param options.baseUrl with or without the final `/v1`. */
export function openGateway({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): OpenAI {
  return new OpenAI({
    baseURL: `${withoutTrailing(baseUrl, '/').replace(/\/v1$/, '')}/v1`,
    apiKey,
    timeout: ANSWER_MS,
    fetchOptions: { redirect: 'error' },
    // Send nothing from the environment of the terminal.
    organization: null,
    project: null,
  });
}

/** The status and the message of an error with which the gateway answered; undefined for other errors. */
export function refusalOf(error: unknown): { status: number; message: string } | undefined {
  if (!(error instanceof APIError) || error.status === undefined) return undefined;
  const status = Number(error.status);
  const { data } = errorBody.safeParse(error.error);
  const unknown = `HTTP status ${status}; is this the address of a research gateway?`;
  return { status, message: data ? printable(`${data.message} (${data.code ?? status})`) : unknown };
}

/** Why a gateway could not be reached, or a connection to it was lost. */
export function lossOf(error: unknown): string {
  const reason = printable(messageOf(rootCause(error)));
  return error instanceof APIConnectionError ? `the gateway cannot be reached: ${reason}` : reason;
}

/** What happened to the connection of `follow`, which takes a long silence for a loss: a model that thinks is silent, too. */
export function lossNote(error: unknown): string {
  const isSilent = error instanceof Error && error.name === 'SilenceError';
  return `${isSilent ? 'still waiting' : 'connection lost'}, trying again: ${lossOf(error)}`;
}

/** The innermost cause: the SDK and `fetch` wrap the system's error. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootCause(error.cause) : error;
}
