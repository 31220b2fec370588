import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

/**
 * `npm run fuzz [-- --runs 5000 --requests 10000 --seed N]`: the long form of the fuzzers that `npm test` runs for
 * seconds: so many texts for each parser at a boundary, so many requests to each endpoint.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5000' },
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string' },
  },
});
const specs = ['test/integration/fuzz/**/*.test.ts', 'test/http/random-requests.test.ts'];
const mocha = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...specs], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FUZZ_RUNS: values.runs,
    FUZZ_REQUESTS: values.requests,
    ...(values.seed === undefined ? {} : { FUZZ_SEED: values.seed }),
  },
});
const [code] = await once(mocha, 'exit');
process.exitCode = code ?? 1;
