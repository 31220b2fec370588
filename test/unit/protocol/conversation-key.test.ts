import assert from 'node:assert/strict';
import { conversationIn, openingOf } from '../../../src/protocol/requests/conversation-key.ts';

const user = (content: string) => ({ role: 'user', content });
const system = { role: 'system', content: 'be brief' };

describe('what tells conversations apart', () => {
  it('is an id, a cache key, or the messages up to the first of the user', () => {
    const messages = [system, user('hello')];
    assert.equal(conversationIn('responses', { conversation: 'conv_1', prompt_cache_key: 'k' }), 'conv_1');
    assert.equal(conversationIn('responses', { conversation: { id: 'conv_1' } }), 'conv_1');
    assert.equal(conversationIn('chat_completions', { prompt_cache_key: 'k', messages }), 'k');
    assert.equal(conversationIn('chat_completions', { messages }), openingOf(messages));
    assert.equal(conversationIn('messages', { messages }), openingOf(messages));
  });

  it('stays as a conversation goes on, and differs where it began with something else', () => {
    const opening = openingOf([system, user('hello')]);
    assert.equal(openingOf([system, user('hello'), { role: 'assistant', content: 'hi' }, user('and?')]), opening);
    assert.notEqual(openingOf([system, user('good day')]), opening);
    assert.notEqual(openingOf([user('hello')]), opening);
    assert.equal(openingOf([system]), openingOf([system, { role: 'assistant', content: 'hi' }]));
    assert.notEqual(openingOf([system]), openingOf([{ role: 'assistant', content: 'hi' }]));
    openingOf([]);
  });

  it('is one for what only the provider can follow, and none for calls that belong to no conversation', () => {
    const first = conversationIn('responses', { input: 'hello' });
    assert.ok(first);
    assert.equal(conversationIn('responses', { input: 'and?', previous_response_id: 'resp_1' }), first);
    assert.equal(conversationIn('embeddings', { input: 'hello' }), undefined);
    assert.equal(conversationIn('chat_completions', {}), undefined);
  });
});
