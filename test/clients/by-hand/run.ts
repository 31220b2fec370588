import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KEY, MODEL, QUESTION, startClientGateway } from '../../support/client-gateway.ts';

/**
 * Clients that are too large for the suite: `npm run clients -- [codex] [genkit] [mastra]`. Each is installed into a temporary
 * folder outside of the project (`--in FOLDER`: into that one, which stays) and asks a gateway of its own. Ends with
 * status 1 where one of them does not get the answer.
 */
const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  codex: ['@openai/codex@0.171.0'],
  genkit: ['genkit@1.42.0', '@genkit-ai/compat-oai@1.42.0'],
  mastra: ['@mastra/core@1.71.0', '@ai-sdk/openai@3.0.141'],
};
const INSTALL_MS = 10 * 60_000;
const RUN_MS = 2 * 60_000;
/** What the corpus says. */
const ANSWER = /tidal turbine/;
const run = promisify(execFile);

const args = process.argv.slice(2);
const at = args.indexOf('--in');
const [, kept] = at === -1 ? [] : args.splice(at, 2);
const names = args.length === 0 ? Object.keys(CLIENTS) : args;
const unknown = names.filter((name) => !(name in CLIENTS));
if (unknown.length > 0) {
  console.error(`There is no client ${unknown.join(', ')}. There are: ${Object.keys(CLIENTS).join(', ')}`);
  process.exit(2);
}
await using gateway = await startClientGateway();
for (const name of names) if (!(await works(name))) process.exitCode = 1;

async function works(name: string): Promise<boolean> {
  const folder = kept ?? (await mkdtemp(join(tmpdir(), `client-${name}-`)));
  try {
    await install(name, folder);
    const asked = {
      baseURL: gateway.baseURL,
      apiKey: KEY.main,
      openaiKey: KEY.openai,
      model: MODEL.research,
      coder: MODEL.coder,
      question: QUESTION,
    };
    const options = { cwd: folder, timeout: RUN_MS };
    const { stdout } = await run(process.execPath, [`${name}.mjs`, JSON.stringify(asked)], options);
    const answers: Record<string, string> = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}');
    const failed = Object.entries(answers).filter(([, text]) => !ANSWER.test(text));
    for (const [what, text] of failed) console.log(`${name}: ${what} gave ${JSON.stringify(text.slice(0, 300))}`);
    const count = Object.keys(answers).length;
    console.log(`${name} (${CLIENTS[name]?.join(', ')}): ${count - failed.length} of ${count} answers are right`);
    return count > 0 && failed.length === 0;
  } catch (thrown) {
    console.log(`${name} could not be run:`, thrown);
    return false;
  } finally {
    if (kept === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function install(name: string, folder: string): Promise<void> {
  await cp(fileURLToPath(new URL(`./${name}.mjs`, import.meta.url)), join(folder, `${name}.mjs`));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const command = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...(CLIENTS[name] ?? [])];
  await run('npm', command, { cwd: folder, timeout: INSTALL_MS });
}
