import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { boundedList, byType, optional, pickSchema, schemaRef } from './parse.ts';

/** The parts of messages and of tool outputs: text, images, files and audio. */

/** Limit of docs/api.md, "Errors". */
const MAX_PARTS = 1000;

const textPart = z
  .object({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() })
  .transform(({ text }) => ({ type: 'text' as const, text }));
const imageUrl = z
  .string()
  .refine(
    (url) => (/^https:\/\//i.test(url) ? URL.canParse(url) : /^data:[^,]*,./is.test(url)),
    'must be an https URL or a data URL',
  );
/** The detail level of an image. `auto` is the same as none; `original`, which few providers know, becomes `high`. */
const detail = optional(z.enum(['auto', 'low', 'high', 'original'])).transform((requested) => {
  if (requested === 'auto') return undefined;
  return requested === 'original' ? 'high' : requested;
});
const imagePart = z
  .object({
    type: z.enum(['input_image', 'image_url']),
    image_url: z.union([imageUrl, z.object({ url: imageUrl, detail })]).describe('An https or data URL.'),
    detail,
  })
  .transform(({ image_url: image, detail: partDetail }) => {
    const { url, detail = partDetail } = typeof image === 'string' ? { url: image } : image;
    return { type: 'image' as const, url, ...(detail && { detail }) };
  })
  .describe('Only for models that read images.');
const imageFile = z
  .object({ type: z.literal('input_image'), file_id: z.string().min(1), detail })
  .transform(({ file_id: id, detail }) => ({ type: 'image_file' as const, id, ...(detail && { detail }) }))
  .describe('Only for models that read images.');
/** A document: the id of an uploaded file, its bytes, or its URL (docs/files.md). */
const document = z.object({
  file_id: optional(z.string().min(1)),
  file_url: optional(z.string().regex(/^https?:\/\//i, 'must be an http or https URL')),
  file_data: optional(z.string().min(1)),
  filename: optional(z.string().max(255)),
});
type Document = Partial<z.output<typeof document>>;
const hasOneSource = ({ file_id, file_url, file_data }: Document) =>
  [file_id, file_url, file_data].filter((source) => source !== undefined).length === 1;
const toFilePart = ({ file_id: id, file_url: url, file_data: data, filename }: Document) => ({
  type: 'file' as const,
  ...(id !== undefined && { id }),
  ...(url !== undefined && { url }),
  ...(data !== undefined && { data }),
  ...(filename !== undefined && { filename }),
});
const filePart = document
  .extend({ type: z.literal('input_file') })
  .refine(hasOneSource, 'give one of file_id, file_url and file_data')
  .transform(toFilePart);
/** A document in a chat completion. */
const chatFilePart = z
  .object({
    type: z.literal('file'),
    file: document.omit({ file_url: true }).refine(hasOneSource, 'give one of file_id and file_data'),
  })
  .transform(({ file }) => toFilePart(file));
const audioPart = z
  .object({
    type: z.literal('input_audio'),
    input_audio: z.object({
      data: z.string().regex(/^[\w+/-]+={0,2}$/, 'must be base64'),
      format: z.enum(['mp3', 'wav']),
    }),
  })
  .transform(({ input_audio: { data, format } }) => ({ type: 'audio' as const, data, format }))
  .describe('Only for plain models that take audio.');
const refusalPart = z
  .object({ type: z.literal('refusal'), refusal: z.string() })
  .transform(({ refusal }) => ({ type: 'text' as const, text: refusal }));
const parts = {
  input_text: textPart,
  output_text: textPart,
  text: textPart,
  refusal: refusalPart,
  input_image: imagePart,
  image_url: imagePart,
  input_file: filePart,
  file: chatFilePart,
  input_audio: audioPart,
};
const UNKNOWN_PART =
  'unknown part type: use text, an image, a file or audio (input_text, input_image, input_file and input_audio; in chats text, image_url, file and input_audio)';

/** A content part of Responses (`input_text`, `output_text`, `input_image`) or chat completions (`text`, `image_url`). */
const contentPart = pickSchema((value) => {
  if (isObject(value) && value.type === 'input_image' && typeof value.file_id === 'string') return imageFile;
  return byType(value, parts, UNKNOWN_PART);
}).meta(schemaRef('ContentPart'));
export type InputPart = z.output<typeof contentPart>;
/** A part that is sent to any kind of model unchanged. */
export type ContentPart = Extract<InputPart, { type: 'text' | 'image' }>;
/** A part that is sent to a plain model. `pdf` has its bytes in a data URL. */
export type PlainPart =
  | ContentPart
  | Extract<InputPart, { type: 'audio' }>
  | { type: 'pdf'; name: string; url: string };

export const contentParts = boundedList(contentPart, { max: MAX_PARTS });

/** For the API description only. */
export const anyContentPart = z.union([textPart, imagePart, imageFile, filePart, chatFilePart, audioPart, refusalPart]);
