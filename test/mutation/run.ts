import { spawn } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { AREAS } from './areas.ts';
import { type Mutant, mutantsOf } from './mutants.ts';

/**
 * Spoils files one place at a time and runs tests against each fault: what stays green is watched by nobody.
 *
 *     npm run mutate -- src/runs/reading/follow.ts --tests 'test/unit/runs/follow*.test.ts'
 *     npm run mutate -- --draw 200 --seed 1        # places drawn from the areas in areas.ts
 *
 * No file is changed: a hook loads the spoilt text. Ends with 1 where a fault survived, of drawn ones where more than
 * one in ten did.
 */

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    /** The specs that should notice. */
    tests: { type: 'string', multiple: true, default: [] },
    /** At most so many mutants of each file, spread over it. */
    most: { type: 'string', default: '1000' },
    /** So many mutants of all areas, drawn by `seed`. */
    draw: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    /** A test run that takes longer has noticed. */
    seconds: { type: 'string', default: '60' },
  },
});
if (values.draw === undefined && (files.length === 0 || values.tests.length === 0)) {
  process.stderr.write(
    'usage: npm run mutate -- FILE... --tests SPEC [--tests SPEC] [--most N] [--jobs N] [--seconds N]\n' +
      '       npm run mutate -- --draw N [--seed N] [--jobs N] [--seconds N]\n',
  );
  process.exit(2);
}

interface Trial extends Mutant {
  file: string;
  line: number;
  was: string;
  stages: readonly (readonly string[])[];
}

const MOST_DRAWN_THAT_SURVIVE = 0.1;

const trials = values.draw === undefined ? (await Promise.all(files.map(spreadOver))).flat() : await drawn();
const survivors: Trial[] = [];
let done = 0;
await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
process.stdout.write(`${done} mutants, ${done - survivors.length} noticed, ${survivors.length} survived\n`);
const allowed = values.draw === undefined ? 0 : done * MOST_DRAWN_THAT_SURVIVE;
process.exitCode = survivors.length > allowed ? 1 : 0;

async function trialsOf(file: string, stages: Trial['stages']): Promise<Trial[]> {
  const source = await readFile(file, 'utf8');
  return mutantsOf(source).map((mutant) => ({
    ...mutant,
    file,
    stages,
    line: source.slice(0, mutant.start).split('\n').length + (source[mutant.start] === '\n' ? 1 : 0),
    was: source.slice(mutant.start, mutant.end).trim(),
  }));
}

async function spreadOver(file: string): Promise<Trial[]> {
  const all = await trialsOf(file, [values.tests]);
  const step = Math.max(1, all.length / Number(values.most));
  return all.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

async function drawn(): Promise<Trial[]> {
  const all: Trial[] = [];
  for (const area of AREAS) {
    const found = (await Array.fromAsync(glob(area.files))).sort();
    for (const file of found) all.push(...(await trialsOf(file, area.stages)));
  }
  const random = new Random(Number(values.seed));
  return Array.from({ length: Number(values.draw) }, () => all.splice(random.below(all.length), 1)).flat();
}

async function worker(): Promise<void> {
  for (let trial = trials.shift(); trial; trial = trials.shift()) {
    if (!(await isNoticed(trial))) {
      survivors.push(trial);
      process.stdout.write(
        `survived  ${trial.file}:${trial.line}  ${trial.was}  ->  ${trial.instead || '(left out)'}\n`,
      );
    }
    done++;
  }
}

async function isNoticed(trial: Trial): Promise<boolean> {
  for (const specs of trial.stages) if (await isNoticedBy(specs, trial)) return true;
  return false;
}

function isNoticedBy(specs: readonly string[], { file, start, end, instead }: Trial): Promise<boolean> {
  const mutant = { url: pathToFileURL(resolve(file)).href, start, end, instead };
  const hook = pathToFileURL(resolve(import.meta.dirname, 'hook.mjs')).href;
  const env = { ...process.env, MUTANT: JSON.stringify(mutant), NODE_OPTIONS: `--import ${hook}` };
  return new Promise((settle) => {
    const tests = spawn('mocha', ['--bail', '--reporter', 'dot', ...specs], {
      env,
      stdio: 'ignore',
      detached: true,
    });
    const timer = setTimeout(() => {
      if (tests.pid !== undefined) process.kill(-tests.pid, 'SIGKILL');
    }, Number(values.seconds) * 1000);
    tests.once('exit', (code) => {
      clearTimeout(timer);
      settle(code !== 0);
    });
  });
}
