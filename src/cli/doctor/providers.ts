import { type Redactor, silentLogger } from '../../base/logger.ts';
import type { GatewayConfig, RemoteProviderConfig } from '../../config/schema.ts';
import { RefreshedSecrets } from '../../upstream/credentials/refreshed-secrets.ts';
import { type ReachResult, reachProvider } from '../../upstream/probing/reach.ts';
import type { Finding } from './finding.ts';

/** Whether each provider answers and accepts its credential. Credentials from commands and files are added to `redactor`. */
export async function providerFindings(
  { providers }: Pick<GatewayConfig, 'providers'>,
  { redactor, signal }: { redactor: Redactor; signal: AbortSignal },
): Promise<Finding[]> {
  using secrets = new RefreshedSecrets({ log: silentLogger, hide: (found) => redactor.addSecrets(found) });
  await secrets.prepare(providers);
  const fix = 'run the command, or read the file, as the user that the gateway runs as';
  const warnings = secrets.warnings.map((detail): Finding => ({ state: 'wrong', about: 'credential', detail, fix }));
  const findings = await Promise.all(
    Object.entries(providers).map(async ([name, provider]): Promise<Finding> => {
      const about = `provider ${name}`;
      if ('builtin' in provider) return { state: 'ok', about, detail: 'built in' };
      const config = secrets.applied(provider);
      return { about, ...findingOf(name, config, await reachProvider(name, config, { signal })) };
    }),
  );
  return [...warnings, ...findings];
}

function findingOf(name: string, config: RemoteProviderConfig, { is, detail }: ReachResult): Omit<Finding, 'about'> {
  const { host } = new URL(config.base_url);
  switch (is) {
    case 'listed':
      return { state: 'ok', detail: `${host} answers and lists ${detail}` };
    case 'unlisted':
      return {
        state: 'note',
        detail: `${host} answers but lists no models (${detail}): \`probe ${name}\` tells whether it can be used`,
      };
    case 'refused': {
      const what = config.api_key === undefined ? 'a credential is missing' : 'it refuses the credential';
      return { state: 'wrong', detail: `${host}: ${what} (${detail})`, fix: `set providers.${name}.api_key` };
    }
    case 'away':
      return {
        state: 'wrong',
        detail: `${host} does not answer as it should (${detail})`,
        fix: `see providers.${name}.base_url and the network`,
      };
  }
}
