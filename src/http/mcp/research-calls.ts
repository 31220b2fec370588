import { z } from 'zod';
import { GatewayError, toGatewayError } from '../../base/errors.ts';
import { publicId } from '../../base/ids.ts';
import type { RunEvent } from '../../protocol/events.ts';
import { decodeFrames } from '../../protocol/frames.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { chooseModel, declaresApi, findModel } from '../models.ts';
import { readResponse, submitResponse } from '../submission/response-request.ts';

/** How many of a user's responses are searched for the newest research. */
const MAX_SEARCHED = 100;

export interface ResearchQuestion {
  question: string;
  effort?: string | undefined;
  /** Absent: the first research model that the key may use. */
  model?: string | undefined;
  /** Id of the research that this one follows up on. */
  follows?: string | undefined;
}

/** Research as tools return it. `report`: empty until the research has ended. */
export const researchResult = z.object({
  id: z.string(),
  status: z.string(),
  report: z.string(),
  sources: z.array(z.object({ title: z.string(), url: z.string() })),
  error: z.string().optional(),
});
export type ResearchResult = z.output<typeof researchResult>;

/** Researches for the user of one HTTP request, in the same way as `POST /v1/responses`. */
export class ResearchCalls {
  readonly #deps: AppDeps;
  readonly #call: Call;

  constructor(deps: AppDeps, call: Call) {
    this.#deps = deps;
    this.#call = call;
  }

  /** Starts research in the background, which goes on if the client disconnects. @throws GatewayError if it is refused. */
  async start({ question, effort, model, follows }: ResearchQuestion): Promise<RunRecord> {
    const { req, identity } = this.#call;
    const json = {
      model: model ?? this.#firstModel(),
      input: question,
      background: true,
      ...(effort !== undefined && { reasoning: { effort } }),
      ...(follows !== undefined && { previous_response_id: follows }),
    };
    const chosen = chooseModel(identity, json.model, 'responses');
    if (chosen.model.kind !== 'research') throw new GatewayError('unsupported_api', `${chosen.name} does no research.`);
    const body = { raw: Buffer.from(JSON.stringify(json)), json };
    const request = await readResponse(this.#deps, identity, { body, ...chosen });
    return (await submitResponse(this.#deps, { req, identity, request })).run;
  }

  /**
   * Waits for the end, and reports progress: first the id, for clients that do not wait for so long.
   * @throws GatewayError that names the id if the gateway stops waiting: the research goes on, and nobody should pay for a
   *   second one; `not_found` if it was deleted.
   */
  async waitFor(
    run: RunRecord,
    { signal, report }: { signal: AbortSignal; report(progress: string): void },
  ): Promise<ResearchResult> {
    const id = publicId('responses', run.id);
    report(`${id} has begun`);
    try {
      for await (const batch of this.#deps.runs.follow(run, { after: 0, signal })) {
        for (const event of decodeFrames(batch.frames)) {
          const progress = progressIn(event);
          if (progress !== undefined) report(progress);
        }
      }
      signal.throwIfAborted();
      return resultOf(await this.#deps.runs.waitForEnd(run, { signal }));
    } catch (thrown) {
      const { code } = toGatewayError(thrown);
      if (code === 'not_found') throw thrown;
      const message = `This call ends, but the research goes on: ask research_result for ${id} later.`;
      throw new GatewayError(code, message, { cause: thrown });
    }
  }

  /** The research of this id, or the user's newest. @throws GatewayError `not_found`. */
  async find(id: string | undefined): Promise<ResearchResult> {
    const { runs } = this.#deps;
    const { caller } = this.#call.identity;
    return resultOf(await runs.response(await runs.find(caller, 'responses', id ?? (await this.#newest()))));
  }

  /** The error that the client gets for a failure. Internal ones are logged. */
  failureOf(thrown: unknown): GatewayError {
    const { context } = this.#call.identity;
    const error = toGatewayError(thrown);
    if (error.code === 'internal_error' && !context.signal.aborted) {
      this.#deps.log.error({ req: context.id, err: thrown }, 'a tool of /mcp failed');
    }
    return error;
  }

  async #newest(): Promise<string> {
    const { config, key, caller } = this.#call.identity;
    const page = await this.#deps.runs.list(caller, 'responses', { limit: MAX_SEARCHED });
    const newest = page.runs.find(({ model }) => findModel(config, key, model)?.kind === 'research');
    if (!newest) throw new GatewayError('not_found', 'There is no research yet.');
    return publicId('responses', newest.id);
  }

  #firstModel(): string {
    const { config, key } = this.#call.identity;
    const name = Object.keys(config.models).find((each) => {
      const model = findModel(config, key, each);
      return model?.kind === 'research' && declaresApi(model, 'responses');
    });
    if (name === undefined) throw new GatewayError('model_not_found', 'This key may use no research model.');
    return name;
  }
}

/** The progress that an event reports, if any. */
function progressIn(event: RunEvent): string | undefined {
  if (event.type !== 'response.output_item.added') return undefined;
  const { item } = event;
  if (item.type === 'message') return 'writing the answer';
  return 'name' in item && typeof item.name === 'string' ? item.name : undefined;
}

function resultOf({ id, status, output_text, output, error }: ResponseObject): ResearchResult {
  const sources = new Map<string, string>();
  for (const item of output) {
    const parts = item.type === 'message' ? item.content : [];
    for (const part of parts) {
      const cited = 'annotations' in part ? part.annotations : [];
      for (const source of cited)
        if ('url' in source) sources.set(String(source.url), String(source.title ?? source.url));
    }
  }
  return {
    id,
    status,
    report: output_text,
    sources: Array.from(sources, ([url, title]) => ({ title, url })),
    ...(error && { error: error.message }),
  };
}
