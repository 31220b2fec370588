import { silentLogger } from '../../src/base/logger.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { claimed, events, newRun } from '../contract/run-store-fixture.ts';

/**
 * A process that appends to a run for ever and prints the last event of each acknowledged batch; it waits to be killed.
 * Arguments: store URL, run id.
 */
const [, , url = '', id = ''] = process.argv;
const store = openSqliteStore(url, { sync: 'normal', log: silentLogger });
await store.create(newRun({ id }));
const { run, token } = await claimed(store, id);
for (let first = run.last + 1; ; first += 3) {
  const transcript = first % 2 === 0 ? [`${first + 2}`] : [];
  const answer = await store.append(id, events(token, first, first + 2, { transcript }));
  if (answer.result !== 'ok') throw new Error(`append: ${answer.result}`);
  process.stdout.write(`${answer.last}\n`);
}
