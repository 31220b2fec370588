import { parseArgs } from 'node:util';
import { Soak } from './soak.ts';

/**
 * `npm run soak [-- --minutes 60 --store sqlite|redis]`: honest and hostile load at once, half of the time over SQLite,
 * half over Redis with three instances of which one is killed every twenty seconds. Prints its numbers and exits with 1
 * on any violation.
 */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, store: { type: 'string', default: '' } },
});
const stores = (['sqlite', 'redis'] as const).filter((store) => values.store === '' || values.store === store);
let broken = 0;
for (const store of stores) {
  const minutes = Number(values.minutes) / stores.length;
  console.log(`${minutes} minutes over ${store}, ${store === 'redis' ? 'three instances' : 'one instance'}`);
  const { numbers, violations } = await Soak.run({ store, minutes, log: (line) => console.log(`  ${line}`) });
  for (const [what, number] of Object.entries(numbers)) console.log(`  ${what}: ${number.toLocaleString('en')}`);
  for (const [what, count] of violations) console.log(`  VIOLATED ${count} times: ${what}`);
  broken += violations.size;
}
process.exit(broken === 0 ? 0 : 1);
