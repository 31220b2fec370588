import { itemId } from '../../../base/ids.ts';
import { callOfImage } from '../../../protocol/made-images.ts';
import type { ImageGenerationCall } from '../../../protocol/openai/items.ts';
import { type LogItem, type Position, wholeItem } from './log-item.ts';

/** An image that the model made, with OpenAI's events. `url`: a data URL. */
export function imageItem(url: string, { run, index }: Position): LogItem<ImageGenerationCall> {
  const id = itemId('ig', run, { output: index });
  const item: ImageGenerationCall = { id, type: 'image_generation_call', status: 'completed', ...callOfImage(url) };
  return wholeItem(index, item, {
    initial: { ...item, status: 'in_progress', result: null },
    events: (place) => [
      { type: 'response.image_generation_call.in_progress', ...place },
      { type: 'response.image_generation_call.generating', ...place },
      { type: 'response.image_generation_call.completed', ...place },
    ],
  });
}
