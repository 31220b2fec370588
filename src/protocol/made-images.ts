import { isObject } from '../base/json.ts';

/** Images that a model makes: data URLs in chats, base64 in the Responses API. */

/** The formats that OpenAI names, by the first characters of an image in base64. */
const BEGINNINGS = { iVBOR: 'png', '/9j/': 'jpeg', UklGR: 'webp', R0lGOD: 'gif', PHN2Zy: 'svg' } as const;
export const IMAGE_FORMATS = ['png', 'webp', 'jpeg', 'gif', 'svg'] as const;
type ImageFormat = (typeof IMAGE_FORMATS)[number];

/** Whether an image is in its URL, rather than at an address of the web. */
export function isImageData(url: string): boolean {
  return /^data:image\/[\w.+-]{1,64};base64,./i.test(url);
}

/** The URL of the image in a part of a message, or in an entry of a chat message's `images`; undefined for anything else. */
export function imageUrlIn(part: unknown): string | undefined {
  if (typeof part === 'string') return part || undefined;
  if (!isObject(part)) return undefined;
  const { type, image_url: image, source } = part;
  if (type === 'image' && isObject(source)) {
    const { media_type: media, data, url } = source;
    if (typeof data === 'string')
      return data && `data:${typeof media === 'string' ? media : 'image/png'};base64,${data}`;
    return typeof url === 'string' ? url : undefined;
  }
  const url = isObject(image) ? image.url : image;
  return typeof url === 'string' && url !== '' ? url : undefined;
}

/** The URL of the image in an item of type `image_generation_call`; undefined if it has none. */
export function imageUrlOfCall({ result, output_format: format }: Record<string, unknown>): string | undefined {
  if (typeof result !== 'string' || result === '') return undefined;
  if (/^(?:data|https?):/i.test(result)) return result;
  const type = IMAGE_FORMATS.find((known) => known === format) ?? formatOf(result) ?? 'png';
  return `data:image/${type === 'svg' ? 'svg+xml' : type};base64,${result}`;
}

/** The image of a data URL as an item of type `image_generation_call` has it. */
export function callOfImage(url: string): { result: string; output_format?: ImageFormat } {
  const at = url.indexOf(',');
  const named = /^data:image\/(\w+)/i.exec(url)?.[1]?.toLowerCase().replace('jpg', 'jpeg');
  const format = IMAGE_FORMATS.find((known) => known === named);
  return { result: url.slice(at + 1), ...(format && { output_format: format }) };
}

function formatOf(base64: string): ImageFormat | undefined {
  return Object.entries(BEGINNINGS).find(([beginning]) => base64.startsWith(beginning))?.[1];
}
