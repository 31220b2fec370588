import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Environment } from '../config/environment.ts';
import type { AskOptions } from './ask/ask.ts';
import type { ExitCode } from './exit-codes.ts';
import type { KeysOptions } from './operating/keys.ts';
import type { StartGateway } from './running-gateway.ts';
import type { Terminal } from './terminal.ts';

/** The commands of `research-gateway`. The code of each is loaded when it is called, so that starts stay fast. */

export interface CommandLineParts {
  environment: Environment;
  terminal: Terminal;
  startGateway: StartGateway;
  /** The folder that holds `config/` and `docs/` of the project. */
  projectRoot: string;
  version: string;
}

/** Turns a function that returns an exit code into a command's action. */
type ExitWith = <A extends unknown[]>(
  run: (...args: A) => ExitCode | Promise<ExitCode>,
) => (...args: A) => Promise<void>;

/** Reads an option that may be repeated. Commander's own list, `<path...>`, would take the question, too. */
const repeated = (value: string, earlier: string[] = []) => [...earlier, value];

const CONFIG = ['-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml'] as const;
const CONFIG_FILE = ['[file]', 'the file; else GATEWAY_CONFIG, else config/gateway.yaml'] as const;

interface ConfigFlag {
  config?: string;
}

/** Adds all commands to the program. `exitWith` takes their exit codes. */
export function addCommands(program: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  addServe(program, parts, exitWith);
  addClients(program, parts, exitWith);
  addDemo(program, parts, exitWith);
  addConfig(program.command('config').description('about the configuration'), parts, exitWith);
  addStore(program.command('store').description('about the store of runs'), parts, exitWith);
  addChecks(program, parts, exitWith);
  addKeys(program.command('keys').description('about API keys'), parts, exitWith);
}

function addServe(program: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  const workers = new Option('-w, --workers <number>', 'processes behind one port, or auto; else server.workers');
  program
    .command('serve', { isDefault: true })
    .description('run the gateway')
    .option(...CONFIG)
    .addOption(workers.argParser(parseWorkers))
    .action(
      exitWith(async (options: ConfigFlag & { workers?: number | 'auto' }) =>
        (await import('./serve.ts')).serve(options, parts),
      ),
    );
}

function addClients(program: Command, { environment, terminal }: CommandLineParts, exitWith: ExitWith): void {
  program
    .command('ask')
    .description('ask a running gateway a question and show the progress of the run')
    .argument('[question]', 'the question; - reads it from standard input')
    .option('--resume <id>', 'follow a run instead of asking')
    .option('--file <path>', 'a file that the question is about; may be repeated', repeated)
    .option('--store <id>', 'a vector store to search; may be repeated', repeated)
    .option('--model <id>', 'the model; else the first that the key may use')
    .addOption(new Option('--effort <effort>', 'how much research').choices(['low', 'medium', 'high']))
    .addOption(baseUrl(environment))
    .addOption(apiKey(environment, 'the key'))
    .option('--json', 'print the response object instead of the report')
    .option('-v, --verbose', 'show thoughts and tool calls line by line')
    .option('-q, --quiet', 'print the result only')
    .addHelpText('after', '\nExit codes: 0 completed, 1 failed, 2 usage, 3 cancelled, 4 connection, 5 refused.')
    .action(
      exitWith(async (question: string | undefined, options: Omit<AskOptions, 'question'>) =>
        (await import('./ask/ask.ts')).ask({ ...options, question }, terminal),
      ),
    );
  program
    .command('mcp')
    .description('offer the research of a running gateway to a program that speaks MCP over standard input and output')
    .addOption(baseUrl(environment))
    .addOption(apiKey(environment, 'the key'))
    .action(
      exitWith(async (options: { baseUrl: string; apiKey: string }) =>
        (await import('./mcp-bridge.ts')).bridgeMcp(options, terminal),
      ),
    );
}

function addDemo(program: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  program
    .command('demo')
    .description('start a gateway with the built-in demo provider, ask it a question, show the run')
    .argument('[question]', 'the question, about the documents in docs/')
    .option('--keep', 'leave the gateway running afterwards')
    .action(
      exitWith(async (question: string | undefined, options: { keep?: boolean }) =>
        (await import('./demo.ts')).demo({ ...options, question, projectRoot: parts.projectRoot }, parts),
      ),
    );
}

function addConfig(config: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file, for editors')
    .action(exitWith(async () => (await import('./operating/config-schema.ts')).printConfigSchema(parts.terminal)));
  config
    .command('explain')
    .description('say what a key gets when it asks for a model: routes, credentials, limits, tools')
    .requiredOption('--key <id>', 'the id of the key')
    .requiredOption('--model <name>', 'the model')
    .argument(...CONFIG_FILE)
    .option(...CONFIG)
    .action(
      exitWith(async (file: string | undefined, { config, ...query }: ConfigFlag & { key: string; model: string }) =>
        (await import('./operating/explain-config.ts')).explainConfig({ ...query, file: file ?? config }, parts),
      ),
    );
  config
    .command('check')
    .description('validate a configuration file')
    .argument(...CONFIG_FILE)
    .option(...CONFIG)
    .action(
      exitWith(async (file: string | undefined, { config }: ConfigFlag) =>
        (await import('./operating/check-config.ts')).checkConfig({ file: file ?? config }, parts),
      ),
    );
}

function addStore(store: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  const commands = () => import('./operating/store.ts');
  store
    .command('check')
    .description('check the store for damage, also while gateways use it')
    .option(...CONFIG)
    .action(exitWith(async (options: ConfigFlag) => (await commands()).checkStoreCommand(options, parts)));
  store
    .command('backup')
    .description('copy a file: store as it is at this moment, also while a gateway uses it')
    .argument('<file>', 'the copy, which must not exist yet')
    .option(...CONFIG)
    .action(
      exitWith(async (file: string, options: ConfigFlag) =>
        (await commands()).backUpStoreCommand({ ...options, file }, parts),
      ),
    );
  store
    .command('verify')
    .description('check a backup or a store folder for damage')
    .argument('<path>', 'the backup, or the folder')
    .action(exitWith(async (path: string) => (await commands()).verifyStoreCommand({ path }, parts)));
  store
    .command('restore')
    .description('put a backup in the place of the configured file: store, which no gateway may use')
    .argument('<path>', 'the backup, or the folder of another store')
    .option('--force', 'also where the store holds what the backup does not, or the backup is damaged')
    .option(...CONFIG)
    .action(
      exitWith(async (path: string, options: ConfigFlag & { force?: boolean }) =>
        (await commands()).restoreStoreCommand({ ...options, path }, parts),
      ),
    );
}

function addChecks(program: Command, parts: CommandLineParts, exitWith: ExitWith): void {
  program
    .command('doctor')
    .description('say what is set up here and what is missing, with the fix')
    .option(...CONFIG)
    .action(exitWith(async (options: ConfigFlag) => (await import('./doctor/doctor.ts')).doctor(options, parts)));
  program
    .command('probe')
    .description('ask a configured provider what it can do; costs a few hundred tokens')
    .argument('<provider>', 'its name in the configuration')
    .option('--model <name>', "the provider's name of the model; else the first that it lists")
    .option(...CONFIG)
    .action(
      exitWith(async (provider: string, options: ConfigFlag & { model?: string }) =>
        (await import('./operating/probe.ts')).probe({ provider, ...options }, parts),
      ),
    );
}

function addKeys(keys: Command, { environment, terminal }: CommandLineParts, exitWith: ExitWith): void {
  const commands = () => import('./operating/keys.ts');
  const asAdmin = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .addOption(baseUrl(environment))
      .addOption(apiKey(environment, 'a key with admin: true'));
  asAdmin('create', 'make a key in the store of a running gateway; its secret is printed once')
    .option('--id <id>', 'its id; else one is made')
    .option('--user <user>', 'whose runs and files it sees; else its id')
    .action(
      exitWith(async (options: KeysOptions & { id?: string; user?: string }) =>
        (await commands()).createKeyCommand(options, terminal),
      ),
    );
  asAdmin('list', 'list the keys of a running gateway').action(
    exitWith(async (options: KeysOptions) => (await commands()).listKeysCommand(options, terminal)),
  );
  asAdmin('rotate', 'give a key of the store another secret')
    .argument('<id>')
    .option('--overlap <seconds>', 'how long the old secret still works', parseSeconds, 0)
    .action(
      exitWith(async (id: string, options: KeysOptions & { overlap: number }) =>
        (await commands()).rotateKeyCommand({ ...options, id }, terminal),
      ),
    );
  asAdmin('revoke', 'remove a key of the store')
    .argument('<id>')
    .action(
      exitWith(async (id: string, options: KeysOptions) =>
        (await commands()).revokeKeyCommand({ ...options, id }, terminal),
      ),
    );
  keys
    .command('new')
    .description('print a new random key with its hash for the configuration')
    .option('--id <id>', 'the id of the key in the configuration', 'new-key')
    .action(
      exitWith(async (options: { id: string }) => (await import('./operating/new-key.ts')).newKey(options, terminal)),
    );
}

function baseUrl({ baseUrl: url = 'http://127.0.0.1:8080' }: Environment): Option {
  return new Option('--base-url <url>', 'the gateway; else GATEWAY_BASE_URL').default(url);
}

/** The help shows only the key of the example configuration, never the one in the environment. */
function apiKey({ apiKey: key = 'sk-local' }: Environment, what: string): Option {
  return new Option('--api-key <key>', `${what}; else GATEWAY_API_KEY`).default(key, 'sk-local');
}

function parseSeconds(value: string): number {
  if (!/^\d{1,7}$/.test(value)) throw new InvalidArgumentError('give a number of seconds.');
  return Number(value);
}

function parseWorkers(value: string): number | 'auto' {
  const number = Number(value);
  if (value === 'auto') return value;
  if (!Number.isInteger(number) || number < 1 || number > 64) {
    throw new InvalidArgumentError('give a number from 1 to 64, or auto for one per core.');
  }
  return number;
}
