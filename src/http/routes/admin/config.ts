import { shownConfig } from '../../../config/shown-config.ts';
import { json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Endpoint } from '../../endpoint.ts';

/** `GET /admin/config` (docs/keys.md, "The configuration"): the one in force. */
export function getConfig({ config }: AppDeps): Endpoint {
  return async () => json({ object: 'config', config: shownConfig(config.current()) });
}
