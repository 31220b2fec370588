import { messageOf } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { didYouMean } from '../../base/nearest.ts';
import type { Environment } from '../../config/environment.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { readProviderSection } from '../../config/provider-section.ts';
import { RefreshedSecrets } from '../../upstream/credentials/refreshed-secrets.ts';
import { probeProvider } from '../../upstream/probing/probe.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import { loadOrExplain } from '../serve.ts';
import type { Terminal } from '../terminal.ts';

/** How long a probe may take, in milliseconds. */
const PROBE_MS = 180_000;

/** Finds out what a configured provider can do, and prints the findings with a matching configuration. */
export async function probe(
  options: { provider: string; model?: string | undefined; config?: string | undefined },
  parts: { environment: Environment; terminal: Terminal },
): Promise<ExitCode> {
  const { terminal, environment } = parts;
  const loaded = await loadOrExplain({ environment, file: options.config }, terminal);
  if (loaded === undefined) return EXIT.usage;
  const { providers } = loaded.config;
  const config = Object.hasOwn(providers, options.provider) ? providers[options.provider] : undefined;
  if (config === undefined || 'builtin' in config) {
    terminal.err(`error: ${whyNotProbed(options.provider, loaded)}\n`);
    return EXIT.usage;
  }
  const interrupted = new AbortController();
  using _ = terminal.onSignal(['SIGINT', 'SIGTERM'], () => interrupted.abort(new Error('the probe was stopped')));
  const timer = setTimeout(
    () => interrupted.abort(new Error(`the probe took longer than ${PROBE_MS / 1000} s`)),
    PROBE_MS,
  );
  using secrets = new RefreshedSecrets({ log: silentLogger });
  try {
    await secrets.prepare({ [options.provider]: config });
    for (const warning of secrets.warnings) terminal.err(`warning: ${printable(warning)}\n`);
    const report = await probeProvider({
      name: options.provider,
      config: secrets.applied(config),
      written: (await readProviderSection(loaded.file, options.provider)) ?? {},
      model: options.model,
      log: silentLogger,
      signal: interrupted.signal,
    });
    for (const { about, result, detail } of report.findings) {
      terminal.out(`${about}: ${printable(result)}${detail ? ` (${printable(detail)})` : ''}\n`);
    }
    terminal.out(`\n${report.configuration.trimEnd()}\n`);
    return report.usable ? EXIT.completed : EXIT.failed;
  } catch (error) {
    terminal.err(`error: ${printable(messageOf(error))}\n`);
    return EXIT.failed;
  } finally {
    clearTimeout(timer);
  }
}

function whyNotProbed(name: string, { config: { providers }, file }: LoadedConfig): string {
  if (Object.hasOwn(providers, name))
    return `${name} is the built-in demo model: there is nothing to find out about it`;
  const known = Object.entries(providers).flatMap(([other, provider]) => ('builtin' in provider ? [] : other));
  const there = didYouMean(name, known) ?? `it has: ${known.join(', ') || 'none'}`;
  return `${file} has no provider ${name} with a base_url; ${there}`;
}
