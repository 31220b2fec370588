import { z } from 'zod';
import { parseJson } from '../../../base/json.ts';
import { emptyUsage, USAGE_COUNTS, type UsageRow, type UsageStore } from '../../side-stores/usage-store.ts';
import { RedisPart } from '../part.ts';
import { pairsOf, textList } from '../replies.ts';
import { loadScript } from '../scripts.ts';

/**
 * Each day is a hash with a field for each count of each row, named by the labels of the row and the count; a set has
 * the days. Each batch leaves a mark, because its answer may be lost and replicas may be late. KEYS counts, mark. ARGV
 * id of the batch, seconds of the mark, field, number, and so on.
 */
const ADD = loadScript(`
if redis.call('GET', KEYS[2]) == ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[2])
for at = 3, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1]) end
return 1`);

/** How long a mark stays, in seconds: an instance repeats a batch every second until it succeeds. */
const MARK_SECONDS = 7 * 86_400;
/** Fields per script call: Lua takes a few thousand arguments. */
const AT_ONCE = 200;

const fieldName = z.tuple([z.string(), z.string(), z.string(), z.string(), z.enum(USAGE_COUNTS)]);

/** Usage by day, in Redis. */
export class RedisUsage extends RedisPart implements UsageStore {
  add: UsageStore['add'] = async (rows, { source, id }) => {
    const { keys } = this;
    for (const [day, some] of Map.groupBy(rows, (row) => row.day)) {
      await this.command('SADD', keys.usageDays, day);
      for (let from = 0; from < some.length; from += AT_ONCE) {
        const args = some.slice(from, from + AT_ONCE).flatMap(fieldsOf);
        const mark = keys.usageMark(day, `${source} ${from}`);
        if (args.length > 0) await this.script(ADD, [keys.usage(day), mark], [id, `${MARK_SECONDS}`, ...args]);
      }
      await this.waitForReplicas(keys.usageTag(day));
    }
  };

  read: UsageStore['read'] = async ({ from, to }) => {
    const days = (await this.#days()).filter((day) => day >= from && day <= to);
    const rows = days.map(async (day) => rowsOf(day, await this.command('HGETALL', this.keys.usage(day))));
    return (await Promise.all(rows)).flat();
  };

  removeBefore: UsageStore['removeBefore'] = async (before) => {
    for (const day of await this.#days()) {
      if (day >= before) continue;
      await this.command('UNLINK', this.keys.usage(day));
      await this.command('SREM', this.keys.usageDays, day);
    }
  };

  async #days(): Promise<string[]> {
    return textList.parse(await this.command('SMEMBERS', this.keys.usageDays));
  }
}

function fieldsOf(row: UsageRow): string[] {
  const labels = [row.key, row.team, row.model, row.tag];
  return USAGE_COUNTS.flatMap((count) =>
    row[count] === 0 ? [] : [JSON.stringify([...labels, count]), `${row[count]}`],
  );
}

function rowsOf(day: string, reply: unknown): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const [field, value] of pairsOf(reply)) {
    const parsed = fieldName.safeParse(parseJson(field));
    if (!parsed.success) continue;
    const [key, team, model, tag, count] = parsed.data;
    const name = JSON.stringify([key, team, model, tag]);
    rows.getOrInsertComputed(name, () => emptyUsage({ day, key, team, model, tag }))[count] = Number(value);
  }
  return [...rows.values()];
}
