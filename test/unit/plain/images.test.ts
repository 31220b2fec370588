import assert from 'node:assert/strict';
import { showImages, withLatestImages } from '../../../src/plain/images.ts';
import type { TurnMessage } from '../../../src/upstream/turn.ts';

const LARGE = `data:image/png;base64,${'A'.repeat(12 * 1024 * 1024)}`;
const NAMED = '(An image that you made, which is not shown here)';

const drawn = (...images: string[]): TurnMessage => ({ role: 'assistant', content: 'Here.', images });
const image = (url: string) => ({ type: 'image_url', image_url: { url } });

describe('images that a plain model made', () => {
  it('are kept up to a limit, the latest ones', () => {
    const kept = withLatestImages([drawn(LARGE, `${LARGE}1`), { role: 'user', content: 'More.' }, drawn(`${LARGE}2`)]);
    assert.deepEqual(
      kept.map((message) => message.role === 'assistant' && message.images?.map(({ length }) => length > 0)),
      [[false, true], false, [true]],
    );
    const shown = showImages(kept.slice(0, 1), { vision: true });
    assert.deepEqual(shown, [
      { role: 'assistant', content: 'Here.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Images that you made:' }, { type: 'text', text: NAMED }, image(`${LARGE}1`)],
      },
    ]);
  });

  it('follow the results of the calls beside them', () => {
    const call = { id: 'c', name: 'f', arguments: '{}' };
    const thread: TurnMessage[] = [
      { role: 'assistant', content: '', tool_calls: [call], images: ['data:image/png;base64,A'] },
      { role: 'tool', tool_call_id: 'c', content: 'Result' },
      drawn('data:image/png;base64,B'),
    ];
    assert.deepEqual(
      showImages(thread, { vision: false }).map(({ role, content }) => [role, content]),
      [
        ['assistant', ''],
        ['tool', 'Result'],
        ['user', NAMED],
        ['assistant', 'Here.'],
        ['user', NAMED],
      ],
    );
  });
});
