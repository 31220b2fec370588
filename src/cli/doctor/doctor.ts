import { Redactor } from '../../base/logger.ts';
import { counted } from '../../base/text.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { Environment } from '../../config/environment.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { secretsIn } from '../../config/secrets.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { sizesOf } from '../operating/check-config.ts';
import type { Terminal } from '../terminal.ts';
import { type Finding, findingLine } from './finding.ts';
import { providerFindings } from './providers.ts';
import { auditFindings, storeFindings } from './store.ts';
import { portFindings } from './system.ts';

/**
 * `doctor`: says what is set up here and what is missing, one line each, with the fix. It changes nothing, and sends
 * providers only requests that are free.
 */
export async function doctor(
  options: { config?: string | undefined },
  { environment, terminal }: { environment: Environment; terminal: Terminal },
): Promise<ExitCode> {
  const redactor = new Redactor();
  let wrong = 0;
  const show = (findings: readonly Finding[]) => {
    for (const finding of findings) {
      if (finding.state === 'wrong') wrong += 1;
      terminal.out(`${findingLine(finding, redactor)}\n`);
    }
  };
  // The launcher has refused a Node that is too old.
  show([{ state: 'ok', about: 'Node', detail: process.versions.node }]);
  const loaded = await load({ environment, file: options.config }, show);
  if (loaded) {
    const { config } = loaded;
    redactor.setSecrets(secretsIn(config));
    show([...configFindings(loaded), ...auditFindings(config.logging)]);
    const interrupted = new AbortController();
    using _ = terminal.onSignal(['SIGINT', 'SIGTERM'], () => interrupted.abort(new Error('stopped')));
    const checks = [
      storeFindings(config),
      portFindings(config.server),
      providerFindings(config, { redactor, signal: interrupted.signal }),
    ];
    for (const findings of await Promise.all(checks)) show(findings);
  }
  terminal.out(wrong === 0 ? 'Nothing is missing.\n' : `${counted(wrong, 'thing')} to put right.\n`);
  return wrong === 0 ? EXIT.completed : EXIT.failed;
}

async function load(
  options: Parameters<typeof loadConfig>[0],
  show: (findings: Finding[]) => void,
): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfig(options);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    // Each line of the error names the place and the fix.
    show(thrown.message.split('\n').map((detail) => ({ state: 'wrong', about: 'configuration', detail })));
    return undefined;
  }
}

function configFindings({ config, file, notices }: LoadedConfig): Finding[] {
  return [
    { state: 'ok', about: 'configuration', detail: `${file} is valid: ${sizesOf(config)}` },
    ...notices.map((notice): Finding => ({ state: 'note', about: 'configuration', detail: `it ${notice}` })),
  ];
}
