import { ErrorReply } from '@redis/client';
import type { GatewayError } from '../../../base/errors.ts';
import type { Address } from '../../../config/redis-url.ts';
import { storeError, storeReason, storeUnavailable } from '../../failure.ts';

/** Error replies of a Redis that cannot be used right now, by their first words. */
const REASON_OF_REPLY: ReadonlyMap<string, string> = new Map([
  ['OOM', 'Redis is out of memory'],
  ['MISCONF', 'Redis cannot write to its disk'],
  ['READONLY', 'Redis is a replica'],
  // A command that was blocked when its server was demoted.
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
  // Redis does not even read long commands of an unauthenticated client.
  ['ERR Protocol error: unauthenticated', 'Redis asks for a password'],
  ['WRONGPASS', 'Redis refuses the password'],
  ['NOPERM', 'Redis refuses a command to its user'],
  // How Redis 7 and newer versions refuse a command within a script.
  ['ERR The user executing the script', 'Redis refuses a command to its user'],
  ['ERR ACL failure in script', 'Redis refuses a command to its user'],
  ['UNKILLABLE', 'Redis is busy with a script'],
  ['ERR max number of clients reached', 'Redis has too many clients'],
]);

/** Whether this connection leads to a demoted node, so that a new one may help. */
export function leadsToReplica(thrown: unknown): boolean {
  return thrown instanceof ErrorReply && /READONLY|^UNBLOCKED/.test(thrown.message);
}

/** Whether Redis refuses this user a command, a key or a channel. */
export function isPermissionDenied(thrown: unknown): boolean {
  if (!(thrown instanceof ErrorReply)) return false;
  return /^NOPERM|^ERR (The user executing the script|ACL failure in script)/.test(thrown.message);
}

/** Parses a redirect of a cluster: permanent (`moved`) or for this one command (`ask`). Undefined for other errors. */
export function parseRedirect(thrown: unknown): { kind: 'moved' | 'ask'; address: Address } | undefined {
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

/** Whether the sender handles the reply: another node has the slot, or the script has to be sent in full. */
export function isHandledBySender(thrown: unknown): boolean {
  return isUnknownScript(thrown) || parseRedirect(thrown) !== undefined;
}

/** See `storeError`. Anything but an error reply is a failed connection. */
export function redisFailure(thrown: unknown): GatewayError {
  const reason = () => (thrown instanceof ErrorReply ? reasonOfReply(thrown.message) : 'Redis cannot be reached');
  return storeError(thrown, reason);
}

/** The error while there is no connection. A server that answers, but refuses the connection, has said why. */
export function notConnected(lastFailure: unknown): GatewayError {
  const reason = lastFailure instanceof ErrorReply ? reasonOfReply(lastFailure.message) : undefined;
  return storeUnavailable(reason ?? 'Redis cannot be reached', lastFailure);
}

/** A write that is refused within a script is wrapped in the text of the script error. */
function reasonOfReply(message: string): string | undefined {
  for (const [word, reason] of REASON_OF_REPLY) if (message.startsWith(word)) return reason;
  for (const [word, reason] of REASON_OF_REPLY) if (message.includes(`-${word} `)) return reason;
  return undefined;
}

/** The reason that a failed check reports. */
export function redisReason(thrown: unknown): string {
  return storeReason(redisFailure(thrown));
}

/** For `catch`: @throws GatewayError, see `redisFailure`. */
export function throwRedisFailure(thrown: unknown): never {
  throw redisFailure(thrown);
}
