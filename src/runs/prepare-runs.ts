import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { LiveToolbox } from '../tools/live-toolbox.ts';

/** What runs need is loaded this long after the start, in milliseconds: not in the way of the first requests. */
const LOAD_AFTER_MS = 100;

/** Soon loads and makes what the first run would wait for; the start itself does not need it. */
export function prepareRuns(
  { models }: GatewayConfig,
  { toolbox, log }: { toolbox: LiveToolbox; log: Logger },
): Disposable {
  const prepare = () =>
    Promise.all([import('../research/loop.ts'), toolbox.prepare(), import('../upstream/routing/ask-route.ts')]).catch(
      (thrown: unknown) => log.error({ err: messageOf(thrown) }, 'research cannot be prepared'),
    );
  const hasResearch = Object.values(models).some(({ kind }) => kind === 'research');
  const timer = hasResearch ? setTimeout(prepare, LOAD_AFTER_MS) : undefined;
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
