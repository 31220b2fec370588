import { type DeliveryStore, LONGEST_WAIT_MS } from '../../side-stores/delivery-store.ts';
import type { DueKeys } from '../keys.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { maybeText, numberReply, textList } from '../replies.ts';
import { loadScript, NOW } from '../scripts.ts';

/**
 * A sorted set has the due times of all runs; the state of a run is in the slot of the run. Nothing is lost between the
 * two: a run stays in the set until a state says that it is never due again.
 */
const SCRIPTS = {
  /** KEYS due. ARGV now, milliseconds, run. */
  schedule: loadScript(`${NOW}
local at = timeOf(ARGV[1]) + tonumber(ARGV[2])
local known = redis.call('ZSCORE', KEYS[1], ARGV[3])
if known and tonumber(known) <= at then return 0 end
redis.call('ZADD', KEYS[1], whole(at), ARGV[3])
return 1`),

  /** KEYS due. ARGV now, milliseconds of the lease, limit. */
  take: loadScript(`${NOW}
local now = timeOf(ARGV[1])
local runs = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', 0, ARGV[3])
if #runs == 0 then
  runs = redis.call('ZRANGEBYSCORE', KEYS[1], whole(now + ${LONGEST_WAIT_MS} + 1), '+inf', 'LIMIT', 0, ARGV[3])
end
for _, run in ipairs(runs) do redis.call('ZADD', KEYS[1], whole(now + tonumber(ARGV[2])), run) end
return runs`),

  /** KEYS state. ARGV state before or '', state, milliseconds to keep it. */
  put: loadScript(`
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`),

  /** KEYS due. ARGV now, milliseconds, run. Sets the due time, whatever it was before. */
  postpone: loadScript(`${NOW}
redis.call('ZADD', KEYS[1], whole(timeOf(ARGV[1]) + tonumber(ARGV[2])), ARGV[3])
return 1`),
};

/** The schedule of deliveries or readings, in Redis. */
export class RedisDeliveries extends RedisPart implements DeliveryStore {
  readonly #due: DueKeys;

  constructor(parts: RedisParts, due: DueKeys) {
    super(parts);
    this.#due = due;
  }

  schedule: DeliveryStore['schedule'] = async (run, { dueInMs }) => {
    await this.#onDue('schedule', [`${dueInMs}`, run]);
    await this.waitForReplicas(this.#due.tag);
  };

  takeDue: DeliveryStore['takeDue'] = async ({ limit, leaseMs }) =>
    textList.parse(await this.#onDue('take', [`${leaseMs}`, `${limit}`]));

  get: DeliveryStore['get'] = async (run) =>
    maybeText.parse(await this.command('GET', this.#due.state(run))) ?? undefined;

  put: DeliveryStore['put'] = async (run, { before = '', state, dueInMs, keepMs }) => {
    if ((await this.script(SCRIPTS.put, [this.#due.state(run)], [before, state, `${keepMs}`])) !== 1) return false;
    // A run that is due again must be in the set before this returns. One that never is may stay until it is taken.
    if (dueInMs === undefined) await this.command('ZREM', this.#due.due, run);
    else await this.#onDue('postpone', [`${dueInMs}`, run]);
    // Another instance may have made it due at once between the two.
    if ((await this.get(run)) !== state) await this.#onDue('schedule', ['0', run]);
    await Promise.all([this.waitForReplicas(run), this.waitForReplicas(this.#due.tag)]);
    return true;
  };

  remove: DeliveryStore['remove'] = async (run) => {
    await this.command('UNLINK', this.#due.state(run));
    await this.command('ZREM', this.#due.due, run);
  };

  count: DeliveryStore['count'] = async () => numberReply.parse(await this.command('ZCARD', this.#due.due));

  #onDue(name: 'schedule' | 'take' | 'postpone', args: readonly string[]): Promise<unknown> {
    return this.script(SCRIPTS[name], [this.#due.due], [this.now(), ...args]);
  }
}
