import { Gauge, type Registry } from 'prom-client';
import project from '../../../package.json' with { type: 'json' };
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { OperatorParts } from '../app-deps.ts';
import type { Admission } from '../limits/admission.ts';

/** How many limits have a label of their own. */
const MAX_LIMITS = 1000;

interface GaugeSources {
  config: Pick<LiveConfig, 'current'>;
  admission: Pick<Admission, 'usage'>;
  operator: Pick<OperatorParts, 'providers'>;
}

/** Adds metrics of the state of routes and limits, which are read when somebody asks, and of the build. */
export function addOperatorGauges(registry: Registry, { config, admission, operator }: GaugeSources): void {
  // With several processes a route counts as skipped if one of them skips it, and all read the same limits.
  const common = { registers: [registry], aggregator: 'max' as const };
  new Gauge({
    ...common,
    name: 'gateway_build_info',
    help: 'Always 1; the version of the gateway and of Node.',
    labelNames: ['version', 'node'],
  }).set({ version: project.version, node: process.version }, 1);
  new Gauge({
    ...common,
    name: 'gateway_route_circuit_open',
    help: 'Whether a route is skipped after failures (1) or not (0).',
    labelNames: ['provider', 'model'],
    collect() {
      this.reset();
      for (const { name: provider, models } of operator.providers()) {
        for (const { model, skipped } of models) this.set({ provider, model }, skipped ? 1 : 0);
      }
    },
  });
  new Gauge({
    ...common,
    name: 'gateway_limit_used_ratio',
    help: 'How much of its limits a key, or its team, has used.',
    labelNames: ['key', 'limit'],
    async collect() {
      const ratios = await usedRatios(config.current().keys, admission);
      // At once: several collectors may ask at the same time.
      this.reset();
      for (const { key, limit, ratio } of ratios) this.set({ key, limit }, ratio);
    },
  });
}

/** Without the store nothing is known, which is reported elsewhere. */
async function usedRatios(keys: readonly KeyConfig[], admission: GaugeSources['admission']) {
  const ratios: { key: string; limit: string; ratio: number }[] = [];
  for (const key of keys) {
    if (ratios.length >= MAX_LIMITS) break;
    if (key.team === undefined && Object.keys(key.limits).length === 0) continue;
    const usage = await admission.usage(key).catch(() => undefined);
    if (!usage) break;
    for (const { name, limit, used } of usage) ratios.push({ key: key.id, limit: name, ratio: used / limit });
    await yieldToEventLoop();
  }
  return ratios;
}
