import { Command, CommanderError } from 'commander';
import { didYouMean } from '../base/nearest.ts';
import { addCommands, type CommandLineParts } from './commands.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { printable } from './printable.ts';

/**
 * Runs one command of `research-gateway`.
 * @param args without the program's own name.
 */
export async function runCommandLine(args: readonly string[], parts: CommandLineParts): Promise<ExitCode> {
  const { terminal, version } = parts;
  let code: ExitCode = EXIT.completed;
  const program = new Command('research-gateway')
    .description('Deep research behind the OpenAI API, in front of any OpenAI-compatible provider.')
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(--help tells more)');

  addCommands(program, parts, (run) => async (...args) => {
    code = await run(...args);
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
 * Without this check, commander would take an unknown command for an argument of `serve`, which is the default command.
 * @throws CommanderError if the first word is not a command.
 */
function refuseUnknownCommand(program: Command, [word]: readonly string[]): void {
  const names = program.commands.map((command) => command.name());
  if (word === undefined || word.startsWith('-') || [...names, 'help'].includes(word)) return;
  if (/\s/.test(word)) program.error(`error: a question goes to the command ask: research-gateway ask "..."`);
  const fix = didYouMean(word, names) ?? `there are ${names.join(', ')}`;
  program.error(`error: unknown command '${printable(word)}'; ${fix}`);
}
