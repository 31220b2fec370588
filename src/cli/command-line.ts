import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { didYouMean } from '../base/nearest.ts';
import type { Environment } from '../config/environment.ts';
import type { Effort } from '../config/schema.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { KeysOptions } from './operating/keys.ts';
import { printable } from './printable.ts';
import type { StartGateway } from './running-gateway.ts';
import type { Terminal } from './terminal.ts';

export interface CommandLineParts {
  environment: Environment;
  terminal: Terminal;
  startGateway: StartGateway;
  /** The folder that holds `config/` and `docs/` of the project. */
  projectRoot: string;
  version: string;
}

interface AskFlags {
  baseUrl: string;
  apiKey: string;
  resume?: string;
  file?: string[];
  store?: string[];
  model?: string;
  effort?: Effort;
  json?: boolean;
  verbose?: boolean;
  quiet?: boolean;
}

/**
 * Runs one command of `research-gateway`. A command's code is loaded when it is called: a start should not wait for
 * the others.
 * @param args without the program's own name.
 */
export async function runCommandLine(args: readonly string[], parts: CommandLineParts): Promise<ExitCode> {
  const { terminal, environment, version } = parts;
  let code: ExitCode = EXIT.completed;
  const program = new Command('research-gateway')
    .description('Deep research behind the OpenAI API, in front of any OpenAI-compatible provider.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(--help tells more)');

  program
    .command('serve', { isDefault: true })
    .description('run the gateway')
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .addOption(
      new Option('-w, --workers <number>', 'processes behind one port, or auto; else server.workers').argParser(
        parseWorkers,
      ),
    )
    .action(async (options: { config?: string; workers?: number | 'auto' }) => {
      const { serve } = await import('./serve.ts');
      code = await serve(options, parts);
    });

  program
    .command('ask')
    .description('ask a running gateway a question and show how the run goes on')
    .argument('[question]', 'the question; - reads it from standard input')
    .option('--resume <id>', 'go on with a run instead of asking')
    .option('--file <path...>', 'files that the question is about')
    .option('--store <id...>', 'vector stores to search')
    .option('--model <id>', 'the model; else the first that the key may use')
    .addOption(new Option('--effort <effort>', 'how much research').choices(['low', 'medium', 'high']))
    .option('--base-url <url>', 'the gateway; else GATEWAY_BASE_URL', environment.baseUrl ?? 'http://127.0.0.1:8080')
    .addOption(
      new Option('--api-key <key>', 'the key; else GATEWAY_API_KEY').default(
        environment.apiKey ?? 'sk-local',
        'sk-local',
      ),
    )
    .option('--json', 'print the response object instead of the report')
    .option('-v, --verbose', 'show thoughts and tool calls line by line')
    .option('-q, --quiet', 'print the result only')
    .addHelpText('after', '\nExit codes: 0 completed, 1 failed, 2 usage, 3 cancelled, 4 connection, 5 refused.')
    .action(async (question: string | undefined, options: AskFlags) => {
      const { ask } = await import('./ask/ask.ts');
      code = await ask({ ...options, question }, terminal);
    });

  program
    .command('mcp')
    .description('offer the research of a running gateway to a program that speaks MCP over standard input and output')
    .option('--base-url <url>', 'the gateway; else GATEWAY_BASE_URL', environment.baseUrl ?? 'http://127.0.0.1:8080')
    .addOption(
      new Option('--api-key <key>', 'the key; else GATEWAY_API_KEY').default(
        environment.apiKey ?? 'sk-local',
        'sk-local',
      ),
    )
    .action(async (options: { baseUrl: string; apiKey: string }) => {
      const { bridgeMcp } = await import('./mcp-bridge.ts');
      code = await bridgeMcp(options, terminal);
    });

  program
    .command('demo')
    .description('start a gateway with the built-in demo provider, ask it a question, show the run')
    .argument('[question]', 'the question, about the documents in docs/')
    .option('--keep', 'leave the gateway running afterwards')
    .action(async (question: string | undefined, options: { keep?: boolean }) => {
      const { demo } = await import('./demo.ts');
      code = await demo({ ...options, question, projectRoot: parts.projectRoot }, parts);
    });

  const config = program.command('config').description('about the configuration');
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file, for editors')
    .action(async () => {
      const { printConfigSchema } = await import('./operating/config-schema.ts');
      code = printConfigSchema(terminal);
    });
  config
    .command('explain')
    .description('say what a key gets when it asks for a model: routes, credentials, limits, tools')
    .requiredOption('--key <id>', 'the id of the key')
    .requiredOption('--model <name>', 'the model')
    .argument('[file]', 'the file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (file: string | undefined, options: { key: string; model: string }) => {
      const { explainConfig } = await import('./operating/explain-config.ts');
      code = await explainConfig({ ...options, file }, parts);
    });
  config
    .command('check')
    .description('validate a configuration file')
    .argument('[file]', 'the file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (file: string | undefined) => {
      const { checkConfig } = await import('./operating/check-config.ts');
      code = await checkConfig({ file }, parts);
    });

  const store = program.command('store').description('about the store of runs');
  store
    .command('check')
    .description('look through the store for damage, also while gateways use it')
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (options: { config?: string }) => {
      const { checkStoreCommand } = await import('./operating/store.ts');
      code = await checkStoreCommand(options, parts);
    });
  store
    .command('backup')
    .description('copy a file: store as it is at this moment, also while a gateway uses it')
    .argument('<file>', 'the copy, which must not exist yet')
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (file: string, options: { config?: string }) => {
      const { backUpStoreCommand } = await import('./operating/store.ts');
      code = await backUpStoreCommand({ ...options, file }, parts);
    });

  store
    .command('verify')
    .description('look through a backup or a store folder for damage')
    .argument('<path>', 'the backup, or the folder')
    .action(async (path: string) => {
      const { verifyStoreCommand } = await import('./operating/store.ts');
      code = await verifyStoreCommand({ path }, parts);
    });
  store
    .command('restore')
    .description('put a backup in the place of the configured file: store, which no gateway may use')
    .argument('<path>', 'the backup, or the folder of another store')
    .option('--force', 'also where the store holds what the backup does not, or the backup is damaged')
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (path: string, options: { config?: string; force?: boolean }) => {
      const { restoreStoreCommand } = await import('./operating/store.ts');
      code = await restoreStoreCommand({ ...options, path }, parts);
    });

  program
    .command('doctor')
    .description('say what is set up here and what is missing, with the fix')
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (options: { config?: string }) => {
      const { doctor } = await import('./doctor/doctor.ts');
      code = await doctor(options, parts);
    });

  program
    .command('probe')
    .description('ask a configured provider what it can do; costs a few hundred tokens')
    .argument('<provider>', 'its name in the configuration')
    .option('--model <name>', "the provider's name of the model; else the first that it lists")
    .option('-c, --config <file>', 'configuration file; else GATEWAY_CONFIG, else config/gateway.yaml')
    .action(async (provider: string, options: { model?: string; config?: string }) => {
      const { probe } = await import('./operating/probe.ts');
      code = await probe({ provider, ...options }, parts);
    });

  const keys = program.command('keys').description('about API keys');
  const asAdmin = (command: Command) =>
    command
      .option('--base-url <url>', 'the gateway; else GATEWAY_BASE_URL', environment.baseUrl ?? 'http://127.0.0.1:8080')
      .addOption(
        new Option('--api-key <key>', 'a key with admin: true; else GATEWAY_API_KEY').default(
          environment.apiKey ?? 'sk-local',
          'sk-local',
        ),
      );
  asAdmin(
    keys.command('create').description('make a key in the store of a running gateway; its secret is printed once'),
  )
    .option('--id <id>', 'its id; else one is made')
    .option('--user <user>', 'whose runs and files it sees; else its id')
    .action(async (options: KeysOptions & { id?: string; user?: string }) => {
      code = await (await import('./operating/keys.ts')).createKey(options, terminal);
    });
  asAdmin(keys.command('list').description('list the keys of a running gateway')).action(
    async (options: KeysOptions) => {
      code = await (await import('./operating/keys.ts')).listKeys(options, terminal);
    },
  );
  asAdmin(keys.command('rotate').description('give a key of the store another secret').argument('<id>'))
    .option('--overlap <seconds>', 'for how long the old one is taken too', parseSeconds, 0)
    .action(async (id: string, options: KeysOptions & { overlap: number }) => {
      code = await (await import('./operating/keys.ts')).rotateKey({ ...options, id }, terminal);
    });
  asAdmin(keys.command('revoke').description('remove a key of the store').argument('<id>')).action(
    async (id: string, options: KeysOptions) => {
      code = await (await import('./operating/keys.ts')).revokeKey({ ...options, id }, terminal);
    },
  );
  keys
    .command('new')
    .description('print a new random key with its hash for the configuration')
    .option('--id <id>', 'the id of the key in the configuration', 'new-key')
    .action(async (options: { id: string }) => {
      const { newKey } = await import('./operating/new-key.ts');
      code = newKey(options, terminal);
    });

  try {
    refuseUnknownCommand(program, args);
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    throw error;
  }
}

/**
 * Without a command the gateway is run: commander would tell that `serve` takes no argument `serv`.
 * @throws CommanderError for a first word that is no command.
 */
function refuseUnknownCommand(program: Command, [word]: readonly string[]): void {
  const names = program.commands.map((command) => command.name());
  if (word === undefined || word.startsWith('-') || [...names, 'help'].includes(word)) return;
  if (/\s/.test(word)) program.error(`error: a question goes to the command ask: research-gateway ask "..."`);
  const fix = didYouMean(word, names) ?? `there are ${names.join(', ')}`;
  program.error(`error: unknown command '${printable(word)}'; ${fix}`);
}

/** @throws InvalidArgumentError for what is neither `auto` nor a number that makes sense. */
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
