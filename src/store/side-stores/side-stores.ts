import type { LimitStore } from '../limit-store.ts';
import type { RunStore } from '../run-store.ts';
import type { ConversationStore } from './conversation-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EntryStore } from './entry-store.ts';
import type { FileStore } from './file-store.ts';
import type { UsageStore } from './usage-store.ts';

/** What the backend stores beside the runs. Each store has its own contract and contract suite. */
export interface SideStores {
  conversations: ConversationStore;
  /** Runs that have something to deliver to a webhook receiver. */
  deliveries: DeliveryStore;
  files: FileStore;
  /** Keys, the audit log, vector stores and their contents. */
  entries: EntryStore;
  /** Users whose documents have to be read. */
  readings: DeliveryStore;
  usage: UsageStore;
}

/** The storage that the processes of a gateway share. */
export interface SharedStorage extends SideStores {
  runs: RunStore;
  limits: LimitStore;
  /**
   * A random secret that everyone who uses this store shares. It is created on first use and stays.
   * @throws GatewayError `store_unavailable`.
   */
  secret(): Promise<string>;
}
