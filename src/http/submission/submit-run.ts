import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { publicId, type RunId } from '../../base/ids.ts';
import type { RunRecord, Submission } from '../../runs/runs.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import type { Admitted } from '../limits/admission.ts';
import { type Fingerprint, fingerprintOf, idempotencyOf, isRetry } from '../retries.ts';

/** A run to submit, and the request it came with. */
export interface RunSubmission {
  req: IncomingMessage;
  res: ServerResponse;
  identity: Identity;
  /** The body's bytes. */
  raw: Buffer;
  submission: Omit<Submission, 'caller' | 'idempotency' | 'admit'>;
  /** Tokens that the run will use at most, as far as can be said. */
  tokens: number;
}

/** The run that a request became; `replayed`: an earlier one. */
export interface Submitted {
  run: RunRecord;
  replayed: boolean;
}

/** Path of the endpoint whose submissions may be repeated, by interface; chat completions may not. */
const REPEATABLE: Partial<Record<Submission['api'], string>> = { responses: '/v1/responses', async: '/v1/async' };

/**
 * Submits a run under the limits of its key, or finds the one that this request was submitted as before (contract
 * section 2, idempotency). The answer tells of it with `idempotent-replayed`.
 * @throws GatewayError whatever refuses it; nothing of a refused submission counts.
 */
export async function submitRun(deps: AppDeps, request: RunSubmission): Promise<Submitted> {
  const { req, res, identity, submission } = request;
  const path = REPEATABLE[submission.api];
  const fingerprint = path === undefined ? undefined : fingerprintOf(path, request.raw, identity.key);
  const idempotency = fingerprint && idempotencyOf(req, { user: identity.caller.user, fingerprint });
  const retried =
    fingerprint && !idempotency && isRetry(req) ? await earlierRun(deps, request, fingerprint) : undefined;
  const { run, replayed } = retried
    ? { run: retried, replayed: true }
    : await submitNew(deps, request, { fingerprint, idempotency });
  identity.context.run = run.id;
  if (replayed) res.setHeader('idempotent-replayed', 'true');
  return { run, replayed };
}

async function submitNew(
  deps: AppDeps,
  { res, identity, submission, tokens }: RunSubmission,
  { fingerprint, idempotency }: { fingerprint: Fingerprint | undefined; idempotency: Submission['idempotency'] },
): Promise<Submitted> {
  const { key, caller, config } = identity;
  let admitted: Admitted | undefined;
  try {
    return await deps.runs.submit({
      ...submission,
      caller,
      ...(idempotency && { idempotency }),
      admit: async (id: RunId) => {
        admitted = await deps.admission.admit({
          key,
          id,
          runMs: config.runs.maxRunMs,
          tokens,
          announce: (headers) => setHeaders(res, headers),
        });
        if (fingerprint) await deps.retries.remember(fingerprint, id);
        return admitted.held;
      },
    });
  } catch (thrown) {
    await admitted?.undo();
    throw thrown;
  }
}

/** The run that the same key and body became within two minutes, if the caller can still read it. */
async function earlierRun(
  { retries, runs }: AppDeps,
  { identity: { caller }, submission: { api } }: RunSubmission,
  fingerprint: Fingerprint,
): Promise<RunRecord | undefined> {
  const id = await retries.find(fingerprint);
  if (id === undefined || api === 'chat_completions') return undefined;
  try {
    return await runs.find(caller, api, publicId(api, id));
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'not_found') return undefined;
    throw thrown;
  }
}

function setHeaders(res: ServerResponse, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}
