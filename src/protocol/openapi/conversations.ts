import { conversationItem, conversationObject } from '../conversations.ts';
import { createConversation, createConversationItems, updateConversation } from '../requests/conversation-requests.ts';
import { listConversationItemsQuery } from '../requests/queries.ts';
import { deletedObject, jsonResponse, listSchema, operationsWithTag } from './operations.ts';

/** `/v1/conversations` (docs/api.md, "Conversations"). */
export function conversationOperations() {
  const conversation = conversationObject.meta({ id: 'Conversation' });
  const items = listSchema(conversationItem.meta({ id: 'ConversationItem' }));
  return operationsWithTag('Conversations', {
    'post /v1/conversations createConversation': {
      summary: 'Begin a conversation, with up to 20 items.',
      body: createConversation,
      answer: jsonResponse('The conversation.', conversation),
    },
    'get /v1/conversations/{id} getConversation': {
      summary: 'Read a conversation without its items.',
      answer: jsonResponse('The conversation.', conversation),
    },
    'post /v1/conversations/{id} updateConversation': {
      summary: 'Replace its metadata.',
      body: updateConversation,
      answer: jsonResponse('The conversation.', conversation),
    },
    'delete /v1/conversations/{id} deleteConversation': {
      summary: 'Remove a conversation and its items.',
      answer: jsonResponse('Removed.', deletedObject('conversation.deleted')),
    },
    'post /v1/conversations/{id}/items createConversationItems': {
      summary: 'Add up to 20 items.',
      body: createConversationItems,
      answer: jsonResponse('What was added, with ids.', items),
    },
    'get /v1/conversations/{id}/items listConversationItems': {
      summary: 'List its items, the newest first.',
      query: listConversationItemsQuery,
      answer: jsonResponse('A page.', items),
    },
    'get /v1/conversations/{id}/items/{item} getConversationItem': {
      summary: 'Read one item.',
      answer: jsonResponse('The item.', conversationItem),
    },
    'delete /v1/conversations/{id}/items/{item} deleteConversationItem': {
      summary: 'Take one item out.',
      answer: jsonResponse('The conversation.', conversation),
    },
  });
}
