import { ErrorReply } from '@redis/client';
import { type GatewayError, messageOf } from '../../../base/errors.ts';
import type { Address } from '../../../config/redis-url.ts';
import { storeError } from '../../failure.ts';

/** Error replies of a Redis that cannot serve for now, by their first word. */
const REASON_OF_REPLY: ReadonlyMap<string, string> = new Map([
  ['OOM', 'Redis is out of memory'],
  ['MISCONF', 'Redis cannot write to its disk'],
  ['READONLY', 'Redis is a replica'],
  // A command that waited when its server was demoted.
  ['UNBLOCKED', 'Redis was made a replica'],
  ['LOADING', 'Redis is loading its data'],
  ['BUSY', 'Redis is busy with a script'],
  ['MASTERDOWN', 'Redis has lost its master'],
  ['CLUSTERDOWN', 'the Redis cluster is down'],
  ['TRYAGAIN', 'the Redis cluster is moving data'],
  ['MOVED', 'the Redis cluster is changing'],
  ['ASK', 'the Redis cluster is changing'],
  ['NOREPLICAS', 'Redis lacks replicas'],
  ['NOAUTH', 'Redis asks for a password'],
  // Long commands are not even read of who gave none.
  ['ERR Protocol error: unauthenticated', 'Redis asks for a password'],
  ['WRONGPASS', 'Redis refuses the password'],
  ['NOPERM', 'Redis refuses a command to its user'],
  // What a script's command is refused with, by Redis 7 and by newer ones.
  ['ERR The user executing the script', 'Redis refuses a command to its user'],
  ['ERR ACL failure in script', 'Redis refuses a command to its user'],
  ['UNKILLABLE', 'Redis is busy with a script'],
  ['ERR max number of clients reached', 'Redis has too many clients'],
]);

/** Whether another connection may help: this one leads to a node that was demoted. */
export function leadsToReplica(thrown: unknown): boolean {
  return thrown instanceof ErrorReply && /READONLY|^UNBLOCKED/.test(thrown.message);
}

/** Whether Redis refuses a command, a key or a channel to this user. */
export function isRefusedRight(thrown: unknown): boolean {
  if (!(thrown instanceof ErrorReply)) return false;
  return /^NOPERM|^ERR (The user executing the script|ACL failure in script)/.test(thrown.message);
}

/** Where a cluster says that a key is: for good (`moved`), or for this one command (`ask`). */
export function isRedirect(thrown: unknown): { kind: 'moved' | 'ask'; address: Address } | undefined {
  if (!(thrown instanceof ErrorReply)) return undefined;
  const parts = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(thrown.message);
  if (!parts) return undefined;
  return {
    kind: parts[1] === 'ASK' ? 'ask' : 'moved',
    address: { host: parts[2] ?? '', port: Number(parts[3]) },
  };
}

export function isUnknownScript(thrown: unknown): boolean {
  return thrown instanceof ErrorReply && thrown.message.startsWith('NOSCRIPT');
}

/** Replies that the sender acts on: another node has the slot, or the script has to be sent in full. */
export function isForSender(thrown: unknown): boolean {
  return isUnknownScript(thrown) || isRedirect(thrown) !== undefined;
}

/** See `storeError`: what is no error reply is a connection that failed. */
export function redisFailure(thrown: unknown): GatewayError {
  const reason = () => (thrown instanceof ErrorReply ? reasonOfReply(thrown.message) : 'Redis cannot be reached');
  return storeError(thrown, reason);
}

/** A refusal of a write inside a script comes wrapped in text of the script's own. */
function reasonOfReply(message: string): string | undefined {
  for (const [word, reason] of REASON_OF_REPLY) if (message.startsWith(word)) return reason;
  for (const [word, reason] of REASON_OF_REPLY) if (message.includes(`-${word} `)) return reason;
  return undefined;
}

/** The reason shown by a failed check. */
export function redisReason(thrown: unknown): string {
  return messageOf(redisFailure(thrown));
}

/** For `catch`: @throws GatewayError, see `redisFailure`. */
export function unreachable(thrown: unknown): never {
  throw redisFailure(thrown);
}
