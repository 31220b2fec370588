import { conversationItem, conversationObject } from '../conversations.ts';
import {
  createConversationBody,
  createConversationItemsBody,
  updateConversationBody,
} from '../requests/conversation-requests.ts';
import { listConversationItemsQuery } from '../requests/queries.ts';
import { deletedObject, jsonResponse, listSchema, tagOperations } from './operations.ts';

/** `/v1/conversations` (docs/api.md, "Conversations"). */
export function conversationOperations() {
  const conversation = conversationObject.meta({ id: 'Conversation' });
  const items = listSchema(conversationItem.meta({ id: 'ConversationItem' }));
  return tagOperations('Conversations', {
    'post /v1/conversations createConversation': {
      summary: 'Create a conversation, with up to 20 items.',
      body: createConversationBody,
      answer: jsonResponse('The conversation.', conversation),
    },
    'get /v1/conversations/{id} getConversation': {
      summary: 'Get a conversation without its items.',
      answer: jsonResponse('The conversation.', conversation),
    },
    'post /v1/conversations/{id} updateConversation': {
      summary: 'Replace its metadata.',
      body: updateConversationBody,
      answer: jsonResponse('The conversation.', conversation),
    },
    'delete /v1/conversations/{id} deleteConversation': {
      summary: 'Delete a conversation and its items.',
      answer: jsonResponse('Removed.', deletedObject('conversation.deleted')),
    },
    'post /v1/conversations/{id}/items createConversationItems': {
      summary: 'Add up to 20 items.',
      body: createConversationItemsBody,
      answer: jsonResponse('The added items, with ids.', items),
    },
    'get /v1/conversations/{id}/items listConversationItems': {
      summary: 'List its items, newest first.',
      query: listConversationItemsQuery,
      answer: jsonResponse('A page.', items),
    },
    'get /v1/conversations/{id}/items/{item} getConversationItem': {
      summary: 'Get one item.',
      answer: jsonResponse('The item.', conversationItem),
    },
    'delete /v1/conversations/{id}/items/{item} deleteConversationItem': {
      summary: 'Delete one item.',
      answer: jsonResponse('The conversation.', conversation),
    },
  });
}
