import type { RemoteProviderConfig } from '../../config/schema.ts';
import { chatWire } from './chat-wire.ts';
import { messagesWire } from './messages/messages-wire.ts';
import { responsesWire } from './responses/responses-wire.ts';
import type { Wire } from './wire.ts';

export const WIRES: Readonly<Record<RemoteProviderConfig['wire'], Wire>> = {
  chat: chatWire,
  responses: responsesWire,
  messages: messagesWire,
};
