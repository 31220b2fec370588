import { conversationItem, conversationObject } from '../conversations.ts';
import { createConversation, createConversationItems, updateConversation } from '../requests/conversation-requests.ts';
import { listConversationItemsQuery } from '../requests/queries.ts';
import { deleted, jsonAnswer, listSchema, tagged } from './operations.ts';

/** `/v1/conversations` (docs/api.md, "Conversations"). */
export function conversationOperations() {
  const conversation = conversationObject.meta({ id: 'Conversation' });
  const items = listSchema(conversationItem.meta({ id: 'ConversationItem' }));
  return tagged('Conversations', {
    'post /v1/conversations createConversation': {
      summary: 'Begin a conversation, with up to 20 items.',
      body: createConversation,
      answer: jsonAnswer('The conversation.', conversation),
    },
    'get /v1/conversations/{id} getConversation': {
      summary: 'Read a conversation without its items.',
      answer: jsonAnswer('The conversation.', conversation),
    },
    'post /v1/conversations/{id} updateConversation': {
      summary: 'Replace its metadata.',
      body: updateConversation,
      answer: jsonAnswer('The conversation.', conversation),
    },
    'delete /v1/conversations/{id} deleteConversation': {
      summary: 'Remove a conversation and its items.',
      answer: jsonAnswer('Removed.', deleted('conversation.deleted')),
    },
    'post /v1/conversations/{id}/items createConversationItems': {
      summary: 'Add up to 20 items.',
      body: createConversationItems,
      answer: jsonAnswer('What was added, with ids.', items),
    },
    'get /v1/conversations/{id}/items listConversationItems': {
      summary: 'List its items, the newest first.',
      query: listConversationItemsQuery,
      answer: jsonAnswer('A page.', items),
    },
    'get /v1/conversations/{id}/items/{item} getConversationItem': {
      summary: 'Read one item.',
      answer: jsonAnswer('The item.', conversationItem),
    },
    'delete /v1/conversations/{id}/items/{item} deleteConversationItem': {
      summary: 'Take one item out.',
      answer: jsonAnswer('The conversation.', conversation),
    },
  });
}
