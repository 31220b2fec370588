import { createHash, randomBytes } from 'node:crypto';
import { createClient } from '@redis/client';
import type { NewRun } from '../../src/store/run-store.ts';

/**
 * A frozen copy of what an instance of version 1 does in Redis: its scripts and its indexes. Gateways of this version
 * have to share their data with such an instance.
 */
const SCRIPTS = {
  create: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
redis.call('DEL', KEYS[2])
if ARGV[3] ~= '0' then redis.call('XADD', KEYS[2], ARGV[3] .. '-0', 'f', '1', 'd', ARGV[4]) end
redis.call('PUBLISH', ARGV[1], 'claimable ' .. ARGV[2])
return 1`,

  claim: `
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'until', 'claims', 'attempts', 'startedAt')
if not r[1] then return {'missing'} end
if r[1] ~= 'queued' and r[1] ~= 'in_progress' then return {'ended'} end
if ARGV[3] ~= '1' and r[2] ~= '' and tonumber(r[3]) > tonumber(ARGV[1]) then return {'held', r[3]} end
local claims = tonumber(r[4]) + 1
local attempts = tonumber(r[5]) + 1
local token = claims .. '-' .. ARGV[4]
local started = r[6]
if started == '' then started = ARGV[1] end
redis.call('HSET', KEYS[1], 'status', 'in_progress', 'token', token, 'until', ARGV[2], 'claims', claims,
  'attempts', attempts, 'startedAt', started)
return {'claimed', token, attempts, redis.call('HGETALL', KEYS[1])}`,

  renew: `
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'cancelRequested')
if r[1] ~= 'in_progress' or r[2] ~= ARGV[1] then return {'fenced'} end
redis.call('HSET', KEYS[1], 'until', ARGV[2])
return {'ok', tonumber(r[3])}`,

  reserve: `
local r = redis.call('HMGET', KEYS[1], 'runId', 'fingerprint', 'until')
if r[1] and tonumber(r[3]) > tonumber(ARGV[1]) then return {r[1], r[2]} end
redis.call('HSET', KEYS[1], 'runId', ARGV[3], 'fingerprint', ARGV[4], 'until', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {ARGV[3], ARGV[4]}`,

  append: `
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'last', 'cancelRequested', 'entries', 'attempts')
if not r[1] then return {'missing'} end
local open = r[1] == 'queued' or r[1] == 'in_progress'
if r[2] == '' or r[2] ~= ARGV[1] then return {open and 'fenced' or 'closed'} end
local first, count, last, cancel = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(r[3]), tonumber(r[4])
local steps, entries, before = #ARGV - 11, tonumber(r[5]), tonumber(ARGV[7])
if count > 0 then
  if first + count - 1 <= last then return {'duplicate', last, cancel} end
elseif open and steps > 0 and before >= 0 and before + steps <= entries then
  return {'duplicate', last, cancel}
end
if not open then return {'closed'} end
if first ~= last + 1 then return {'gap', last} end
local ending = ARGV[8] ~= ''
if ending and cancel == 1 and ARGV[8] ~= 'cancelled' then return {'cancelled', last} end

last = last + count
local set = {'last', last}
if steps > 0 then
  set[3], set[4] = 'entries', entries + steps
  if r[6] ~= '0' then set[5], set[6] = 'attempts', 0 end
end
if ending then
  local n = #set
  set[n + 1], set[n + 2], set[n + 3], set[n + 4] = 'status', ARGV[8], 'endedAt', ARGV[9]
  set[n + 5], set[n + 6], set[n + 7], set[n + 8] = 'expiresAt', ARGV[10], 'attempts', 0
end
redis.call('HSET', KEYS[1], unpack(set))
if count > 0 then
  if ending then
    redis.call('XADD', KEYS[2], last .. '-0', 'f', ARGV[2], 'd', ARGV[4], 'e', '1')
  else
    redis.call('XADD', KEYS[2], last .. '-0', 'f', ARGV[2], 'd', ARGV[4])
  end
end
for i = 12, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if ending then for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[11]) end end
if count > 0 then redis.call('PUBLISH', ARGV[5], ARGV[6] .. ARGV[4]) end
if not ending then return {'ok', last, cancel} end
local owner = redis.call('HMGET', KEYS[1], 'user', 'api')
return {'ok', last, cancel, owner[1], owner[2]}`,
};

async function connect(url: string) {
  return await createClient({ url }).connect();
}

type Client = Awaited<ReturnType<typeof connect>>;

/** An instance of version 1. Times are those of its own clock. */
export class FirstVersion implements AsyncDisposable {
  readonly #client: Client;
  readonly #prefix: string;

  private constructor(client: Client, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  static async open(url: string, prefix: string): Promise<FirstVersion> {
    return new FirstVersion(await connect(url), prefix);
  }

  async create(run: NewRun): Promise<void> {
    const position = `${run.createdAt * 1000}`;
    await this.#command('ZADD', `${this.#prefix}:list:${run.api}:${run.user}`, 'NX', position, run.id);
    await this.#command('ZADD', `${this.#prefix}:queued`, 'NX', position, run.id);
    const fields = {
      ...{ id: run.id, user: run.user, keyId: run.keyId, api: run.api, model: run.model, kind: run.kind },
      ...{ status: 'queued', createdAt: `${run.createdAt}`, startedAt: '', endedAt: '', expiresAt: `${run.expiresAt}` },
      ...{ cancelRequested: '0', last: `${run.frameCount}`, request: run.request, metadata: run.metadata },
      ...{ token: '', until: '0', claims: '0', attempts: '0', entries: '0', sealed: '0' },
    };
    const head = [`${this.#prefix}:changes`, run.id, `${run.frameCount}`, Buffer.from(run.frames)];
    await this.#script(
      'create',
      [this.#key(run.id, 'run'), this.#key(run.id, 'log')],
      [...head, ...Object.entries(fields).flat()],
    );
  }

  /** Takes an idempotency key for a run. Returns the holder if it is taken. */
  async reserve(key: string, entry: { runId: string; fingerprint: string }, options: { now: number; ttlMs: number }) {
    const { now, ttlMs } = options;
    const args = [`${now}`, `${ttlMs}`, entry.runId, entry.fingerprint, `${now + ttlMs}`];
    const reply = await this.#script('reserve', [`${this.#prefix}:reservation:${key}`], args);
    return Array.isArray(reply) ? { runId: String(reply[0]), fingerprint: String(reply[1]) } : undefined;
  }

  /** Stores which run a submission without an idempotency key became. */
  async remember(attempt: string, { runId, ttlMs, now }: { runId: string; ttlMs: number; now: number }) {
    const entry = JSON.stringify({ value: runId, expires: now + ttlMs });
    await this.#command('SET', `${this.#prefix}:cache:retries::${attempt}`, entry, 'PX', `${ttlMs}`);
  }

  /** Claims the run. Returns the token, or undefined if another instance holds the run. */
  async claim(id: string, options: { now: number; leaseMs: number; force?: boolean }): Promise<string | undefined> {
    const until = `${options.now + options.leaseMs}`;
    const args = [`${options.now}`, until, options.force ? '1' : '0', randomBytes(12).toString('base64url')];
    const reply = await this.#script('claim', [this.#key(id, 'run')], args);
    if (!Array.isArray(reply) || reply[0] !== 'claimed') return undefined;
    await this.#command('ZREM', `${this.#prefix}:queued`, id);
    await this.#command('ZADD', `${this.#prefix}:claimed`, until, id);
    return String(reply[1]);
  }

  async append(
    run: { id: string; user: string; api: string },
    batch: {
      token: string;
      first: number;
      count: number;
      frames: Uint8Array;
      transcript?: string[];
      end?: { status: string; at: number; retainUntil: number };
    },
  ): Promise<unknown> {
    const { end } = batch;
    const last = batch.first + batch.count - 1;
    const reply = await this.#script(
      'append',
      [this.#key(run.id, 'run'), this.#key(run.id, 'log'), this.#key(run.id, 'transcript')],
      [
        ...[batch.token, `${batch.first}`, `${batch.count}`, Buffer.from(batch.frames), this.#key(run.id, 'live')],
        ...[`first-version ${batch.first} ${last} ${end ? 1 : 0}\n`, '-1', end?.status ?? '', `${end?.at ?? ''}`],
        ...[`${end?.retainUntil ?? ''}`, '604800000', ...(batch.transcript ?? [])],
      ],
    );
    if (end) {
      for (const set of ['queued', 'claimed']) await this.#command('ZREM', `${this.#prefix}:${set}`, run.id);
      await this.#command('ZADD', `${this.#prefix}:expiry`, `${end.retainUntil}`, `${run.id} ${run.api} ${run.user}`);
      await this.#command('ZADD', `${this.#prefix}:unsealed`, `${end.at}`, run.id);
    }
    return Array.isArray(reply) ? reply[0] : reply;
  }

  /** Every byte of a log that is not compressed. */
  async read(id: string): Promise<string> {
    const entries = await this.#client.sendCommand<unknown>(['XRANGE', this.#key(id, 'log'), '-', '+']);
    if (!Array.isArray(entries)) return '';
    return entries.map(([, fields]) => fields[3]).join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  #key(id: string, part: string): string {
    return `${this.#prefix}:{${id}}:${part}`;
  }

  #command(...args: string[]): Promise<unknown> {
    return this.#client.sendCommand<unknown>(args);
  }

  async #script(name: keyof typeof SCRIPTS, keys: string[], args: (string | Buffer)[]): Promise<unknown> {
    const source = SCRIPTS[name];
    const digest = createHash('sha1').update(source).digest('hex');
    await this.#client.sendCommand(['SCRIPT', 'LOAD', source]);
    return await this.#client.sendCommand<unknown>(['EVALSHA', digest, `${keys.length}`, ...keys, ...args]);
  }
}
