import { counted } from '../../base/text.ts';
import type { Environment } from '../../config/environment.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import { findConfinement } from '../../tools/execute-python/confinement.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadOrExplain } from '../serve.ts';
import type { Terminal } from '../terminal.ts';

/** Validates a configuration file and summarises it. */
export async function checkConfig(
  options: { file?: string | undefined },
  parts: { environment: Environment; terminal: Terminal },
): Promise<ExitCode> {
  const loaded = await loadOrExplain({ environment: parts.environment, file: options.file }, parts.terminal);
  if (loaded === undefined) return EXIT.usage;
  const { config, file, notices } = loaded;
  parts.terminal.out(`${file} is valid: ${sizesOf(config)}\n`);
  if (Object.values(config.models).some(({ kind }) => kind === 'research')) {
    const { restrictions } = await findConfinement();
    const what = restrictions.length === 0 ? 'nothing besides what Node refuses it' : restrictions.join(', ');
    parts.terminal.out(`Python, and what reads pages, schemas and reports, is confined on this system by: ${what}\n`);
  }
  for (const notice of notices) parts.terminal.err(`note: it ${notice}\n`);
  return EXIT.completed;
}

/** How much a configuration holds, in words. */
export function sizesOf({ providers, models, keys }: GatewayConfig): string {
  const sizes = [
    counted(Object.keys(providers).length, 'provider'),
    counted(Object.keys(models).length, 'model'),
    counted(keys.length, 'key'),
  ];
  return sizes.join(', ');
}
