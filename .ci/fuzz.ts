import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

/**
 * `npm run fuzz [-- --runs 5000 --requests 10000 --seed N]`: the long form of the fuzzers that `npm test` runs for
 * seconds: so many texts for each parser at a boundary, so many requests to each endpoint, and other calls to be charged.
 * The seed is another one each time, unless it is given; a failure names it.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5000' },
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
});
const specs = [
  'test/integration/fuzz/**/*.test.ts',
  'test/http/random-requests.test.ts',
  'test/http/limits-property.test.ts',
  'test/unit/runs/log.test.ts',
];
const mocha = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...specs], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FUZZ_RUNS: values.runs,
    FUZZ_REQUESTS: values.requests,
    FUZZ_SEED: values.seed,
  },
});
const [code] = await once(mocha, 'exit');
process.exitCode = code ?? 1;
