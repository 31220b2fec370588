import { countTokens } from './narrow-provider.ts';

/** The cost of consecutive requests at a provider that caches the prefix of the previous request. */
export interface PrefixAccount {
  requests: number;
  /** Tokens of all prompts. */
  sent: number;
  /** Of these, the tokens that stand behind the prefix shared with the request before. */
  anew: number;
  /** The part of the tokens that is the unchanged prefix of the request before. */
  shared: number;
  /** What they are billed as, where a cached token costs a tenth. */
  billed: number;
  largest: number;
  /** Requests that are not the one before with something added. */
  rewrites: number;
}

/** Accounts for messages as sent, with the provider's own token counts. */
type Sent = readonly { role: string; content: string }[];

export function accountOf(requests: readonly Sent[], options: { opening?: string } = {}): PrefixAccount {
  const account: PrefixAccount = {
    requests: requests.length,
    sent: 0,
    anew: 0,
    shared: 0,
    billed: 0,
    largest: 0,
    rewrites: 0,
  };
  const before = countTokens(options.opening ?? '');
  let last: Sent = [];
  for (const request of requests) {
    let shared = last.length > 0 ? before : 0;
    let size = before;
    let same = true;
    for (const [index, message] of request.entries()) {
      const other = last[index];
      const tokens = 4 + countTokens(message.content);
      size += tokens;
      if (!same) continue;
      if (other && other.role === message.role && other.content === message.content) shared += tokens;
      else {
        same = false;
        if (other && other.role === message.role) shared += countTokens(commonStart(other.content, message.content));
        if (other) account.rewrites++;
      }
    }
    account.sent += size;
    account.anew += size - shared;
    account.largest = Math.max(account.largest, size);
    last = request;
  }
  account.shared = 1 - account.anew / account.sent;
  account.billed = Math.round(account.anew + (account.sent - account.anew) * 0.1);
  return account;
}

function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}
