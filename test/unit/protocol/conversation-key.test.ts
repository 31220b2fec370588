import assert from 'node:assert/strict';
import { conversationKey, openingHash } from '../../../src/protocol/requests/conversation-key.ts';

const user = (content: string) => ({ role: 'user', content });
const system = { role: 'system', content: 'be brief' };

describe('conversationKey', () => {
  it('is the conversation id, the prompt cache key, or a hash of the messages up to the first of the user', () => {
    const messages = [system, user('hello')];
    assert.equal(conversationKey('responses', { conversation: 'conv_1', prompt_cache_key: 'k' }), 'conv_1');
    assert.equal(conversationKey('responses', { conversation: { id: 'conv_1' } }), 'conv_1');
    assert.equal(conversationKey('chat_completions', { prompt_cache_key: 'k', messages }), 'k');
    assert.equal(conversationKey('chat_completions', { messages }), openingHash(messages));
    assert.equal(conversationKey('messages', { messages }), openingHash(messages));
  });

  it('is stable as a conversation goes on, and differs if its opening differs', () => {
    const opening = openingHash([system, user('hello')]);
    assert.equal(openingHash([system, user('hello'), { role: 'assistant', content: 'hi' }, user('and?')]), opening);
    assert.notEqual(openingHash([system, user('good day')]), opening);
    assert.notEqual(openingHash([user('hello')]), opening);
    assert.equal(openingHash([system]), openingHash([system, { role: 'assistant', content: 'hi' }]));
    assert.notEqual(openingHash([system]), openingHash([{ role: 'assistant', content: 'hi' }]));
    openingHash([]);
  });

  it('is shared by calls that only the provider can tell apart, and undefined outside conversations', () => {
    const first = conversationKey('responses', { input: 'hello' });
    assert.ok(first);
    assert.equal(conversationKey('responses', { input: 'and?', previous_response_id: 'resp_1' }), first);
    assert.equal(conversationKey('embeddings', { input: 'hello' }), undefined);
    assert.equal(conversationKey('chat_completions', {}), undefined);
  });
});
