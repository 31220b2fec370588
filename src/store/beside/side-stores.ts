import type { LimitStore } from '../limit-store.ts';
import type { RunStore } from '../run-store.ts';
import type { ConversationStore } from './conversation-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EntryStore } from './entry-store.ts';
import type { FileStore } from './file-store.ts';
import type { UsageStore } from './usage-store.ts';

/** What is kept beside the runs, in the same backend; each has a contract and a contract suite of its own. */
export interface SideStores {
  conversations: ConversationStore;
  /** Which runs have something to tell a receiver. */
  deliveries: DeliveryStore;
  files: FileStore;
  /** Keys, the audit, vector stores and what they hold. */
  entries: EntryStore;
  /** Whose documents have to be read. */
  readings: DeliveryStore;
  usage: UsageStore;
}

/** What the processes of a gateway share of its storage. */
export interface SharedStorage extends SideStores {
  runs: RunStore;
  limits: LimitStore;
  /**
   * A secret text that all who use this store share: made at random the first time, kept in it from then on.
   * @throws GatewayError `store_unavailable`.
   */
  secret(): Promise<string>;
}
