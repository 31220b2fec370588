import { GatewayError } from '../../../base/errors.ts';
import { json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Endpoint } from '../../endpoint.ts';

/** `GET /admin/responses/:id/turns/:turn` (docs/api.md, "The prompt of a turn"): of a run of the key's own user. */
export function getTurnPrompt({ runs }: AppDeps): Endpoint {
  return async ({ req, identity: { caller, config } }) => {
    const run = await runs.find(caller, 'responses', String(req.params.id));
    const model = config.models[run.model];
    const turn = Number(req.params.turn);
    if (model?.kind !== 'research' || !Number.isSafeInteger(turn)) {
      throw new GatewayError('not_found', 'There is no such turn of research.');
    }
    return json(await runs.turnPrompt(run, { turn, model, contents: config.telemetry.contents }));
  };
}
