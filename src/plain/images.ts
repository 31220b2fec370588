import type { ResearchState } from '../research/run/state.ts';
import type { AssistantMessage, TurnMessage, UserPart } from '../upstream/turn.ts';

/** Images that the model made (docs/api.md, "Responses of plain models"). */

/** How much of them one response has, and how much of earlier ones a thread keeps, in characters of their data URLs. */
const MAX_IMAGES = 32 * 1024 * 1024;
const HEADING = 'Images that you made:';
const NOT_SHOWN = '(An image that you made, which is not shown here)';

/** The message of a turn with the images that the response has room for; the others are left out with a warning. */
export function withinLimit(message: AssistantMessage, state: ResearchState): AssistantMessage {
  if (!message.images) return message;
  const earlier = state.entries.flatMap((entry) => (entry.t === 'turn' ? (entry.message.images ?? []) : []));
  let room = MAX_IMAGES - earlier.reduce((sum, { length }) => sum + length, 0);
  const { images: made, ...rest } = message;
  const images = made.filter(({ length }) => {
    room -= length;
    return room >= 0;
  });
  if (images.length < made.length)
    state.warn({ code: 'output_left_out', message: 'Images are left out: a response has at most 32 MiB of them.' });
  return images.length > 0 ? { ...rest, images } : rest;
}

/** The messages with the latest images that fit into the limit; '' stands for an earlier one, which is only named. */
export function withLatestImages(messages: readonly TurnMessage[]): TurnMessage[] {
  let room = MAX_IMAGES;
  const kept = messages.toReversed().map((message): TurnMessage => {
    if (message.role !== 'assistant' || !message.images) return message;
    const images = message.images.toReversed().map((url) => {
      room -= url.length;
      return room >= 0 ? url : '';
    });
    return { ...message, images: images.reverse() };
  });
  return kept.reverse();
}

/**
 * The messages with each image that the assistant made behind its message and the results of its calls, as an image of the
 * user: no wire has them elsewhere. A model without `vision` gets a note in their place.
 */
export function showImages(messages: readonly TurnMessage[], { vision }: { vision: boolean }): TurnMessage[] {
  const shown: TurnMessage[] = [];
  let waiting: string[] = [];
  const flush = () => {
    if (waiting.length > 0) shown.push(imagesMessage(waiting, { vision }));
    waiting = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') flush();
    if (message.role !== 'assistant' || !message.images) shown.push(message);
    else {
      const { images, ...rest } = message;
      waiting = images;
      shown.push(rest);
    }
  }
  flush();
  return shown;
}

/** Images that the assistant made, as a message of the user. */
function imagesMessage(images: readonly string[], { vision }: { vision: boolean }): TurnMessage {
  if (!vision) return { role: 'user', content: images.map(() => NOT_SHOWN).join('\n') };
  const parts = images.map(
    (url): UserPart => (url === '' ? { type: 'text', text: NOT_SHOWN } : { type: 'image_url', image_url: { url } }),
  );
  return { role: 'user', content: [{ type: 'text', text: HEADING }, ...parts] };
}
