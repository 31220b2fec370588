import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import { currentTrace } from '../../base/trace-context.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import type { Submission, Submitted } from '../../runs/runs.ts';
import { costOf, highestKnownPrice } from '../../upstream/price.ts';
import { tagOf } from '../../usage/tag.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import type { Admitted } from '../limits/admission.ts';
import type { WorstCase } from '../limits/worst-case.ts';
import { repeatKeyOf } from '../retries.ts';

/** A run to submit, and the request it came with. */
export interface RunSubmission {
  req: IncomingMessage;
  /** Absent on a WebSocket: there is nobody who repeats a request, and no place for headers. */
  res?: ServerResponse | undefined;
  identity: Identity;
  /** The body's bytes. */
  raw: Buffer;
  submission: Omit<Submission, 'caller' | 'repeat' | 'admit' | 'trace' | 'tag'>;
  /** Metadata of the body that names the tag, where the run keeps none. */
  tagged?: unknown;
  /** Those of the body, where research or the gateway answers it. */
  tools?: readonly ResponseTool[] | undefined;
  /** What the run will use at most, by what is known. */
  worst: WorstCase;
}

/** Path of the endpoint whose submissions may be repeated, by interface; chat completions may not. */
const REPEATABLE: Partial<Record<Submission['api'], string>> = {
  responses: '/v1/responses',
  unstored: '/v1/responses',
  async: '/v1/async',
};

/**
 * Submits a run under the limits of its key, or finds the one that this request was submitted as before: the
 * answer says so with `idempotent-replayed` (docs/api.md, "In general").
 * @throws GatewayError whatever refuses it; nothing of a refused submission counts.
 */
export async function submitRun(deps: AppDeps, request: RunSubmission): Promise<Submitted> {
  const { req, res, identity, raw, submission, worst } = request;
  const { key, caller, config } = identity;
  const path = res && REPEATABLE[submission.api];
  await requireStores(deps, request);
  let admitted: Admitted | undefined;
  try {
    const { run, replayed } = await deps.runs.submit({
      ...submission,
      caller,
      trace: currentTrace(),
      tag: tagOf(req.headers, request.tagged ?? submission.metadata),
      ...(path !== undefined && { repeat: repeatKeyOf(req, { path, raw, caller }) }),
      admit: async (id: RunId, { waits }) => {
        admitted = await deps.admission.admit({
          key,
          id,
          runMs: config.runs.maxRunMs,
          waits,
          tokens: worst.input + worst.output,
          cost: likelyCost(request),
          res,
        });
        return admitted.held;
      },
    });
    identity.context.run = run.id;
    if (replayed) {
      res?.setHeader('idempotent-replayed', 'true');
      await admitted?.undo();
    }
    return { run, replayed };
  } catch (thrown) {
    await admitted?.undo();
    throw thrown;
  }
}

/** The vector stores that are to be searched are the user's. @throws GatewayError `not_found`, which names where it is not. */
async function requireStores({ vectorStores }: AppDeps, { identity, tools = [] }: RunSubmission): Promise<void> {
  const found = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'file_search') continue;
    for (const [at, id] of tool.vector_store_ids.entries()) {
      if (found.has(id)) continue;
      found.add(id);
      const param = `tools[${index}].vector_store_ids[${at}]`;
      await vectorStores.find(identity.caller.user, id).catch((thrown: unknown) => {
        if (!(thrown instanceof GatewayError) || thrown.code !== 'not_found') throw thrown;
        throw new GatewayError('not_found', `${param}: ${thrown.message}`, { param, cause: thrown });
      });
    }
  }
}

/** What a run will cost at most, by what is known; undefined if none of its routes has a price. */
function likelyCost({ identity, submission, worst }: RunSubmission): number | undefined {
  const { key, config } = identity;
  const model = config.models[submission.model];
  const { request } = submission;
  const price = model && highestKnownPrice(key.routes[submission.model] ?? model.routes);
  if (!price) return undefined;
  const isResearch = model.kind === 'research' && request.kind === 'research';
  const bound = isResearch ? (request.maxCost ?? model.research.budgets[request.effort]?.cost) : undefined;
  if (request.kind === 'proxy') return costOf(price, worst);
  // Its turns read again what its turns wrote.
  const tokens = worst.input + worst.output;
  return bound ?? costOf(price, { input: tokens, output: tokens });
}
