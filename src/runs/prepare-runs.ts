import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { LiveToolbox } from '../tools/live-toolbox.ts';

/** How long after the start the modules of runs are loaded, in milliseconds: the first requests come first. */
const LOAD_AFTER_MS = 100;

/** Loads and creates, shortly after the start, what the first run would otherwise wait for. */
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
