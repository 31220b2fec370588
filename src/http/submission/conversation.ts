import { fieldError } from '../../base/errors.ts';
import { contentText } from '../../base/text.ts';
import { summaryText } from '../../plain/compaction.ts';
import type { SealedContents, Thought } from '../../plain/sealed-contents.ts';
import type { ContentPart, InputPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import type { PriorCall, PriorOutput } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, type InputMessage, inputItem } from '../../protocol/requests/request-input.ts';
import { withoutForeignMarkers } from '../../research/answer/earlier-answer.ts';
import type { ConversationMessage, EarlierSource } from '../../research/run/request.ts';
import { fenceWithoutNonce } from '../../research/text/fence.ts';
import type { Caller } from '../../runs/submission.ts';
import { imagesOf } from '../../runs/submitting/history.ts';
import { attachedDocumentsIn } from '../../tools/attached-file.ts';
import type { Attachments, Keeping } from './attachments.ts';
import type { FindItem } from './references.ts';

/** The longest name of a tool that ran elsewhere, in UTF-16 code units. */
const MAX_NAME = 128;

/** What a model accepts besides text. */
interface Modalities {
  vision: boolean;
  /** Absent: false. */
  audio?: boolean;
}

export interface ConversationOptions {
  model: Modalities;
  /** `input`, `messages` or `conversation`, for errors. */
  field: string;
  /** Whether the items are from a stored conversation; see `AttachmentContext`. */
  isStored?: boolean;
  findItem: FindItem;
  /** The text of a compaction item; `param` names the field. @throws GatewayError if it is not the caller's. */
  openCompaction(sealed: string, param: string): Promise<string>;
  /** Opens encrypted reasoning, as `openCompaction`. */
  openThought(sealed: string, param: string): Promise<Thought>;
  /** Resolves the files among parts for the model; `place` is the field. */
  attach(parts: readonly InputPart[], place: string, options: AttachOptions): Promise<PlainPart[]>;
}

interface AttachOptions extends Pick<ConversationOptions, 'isStored'> {
  /** Whether PDFs may be sent as they are. */
  allowPdf: boolean;
}

/** Functions that open sealed contents and resolve files, for one request. `model`: see `AttachmentContext`. */
export function contentReadersFor(
  { user }: Caller,
  { sealed: contents, attachments, keeping, signal }: ContentSources,
  {
    takesPdf = false,
    sentBefore = 0,
    ...model
  }: { canOpenUrls: boolean; window: number; takesPdf?: boolean; sentBefore?: number },
): Pick<ConversationOptions, 'openCompaction' | 'openThought' | 'attach'> {
  const sent = { bytes: sentBefore };
  return {
    attach: (parts, place, { allowPdf, isStored = false }) =>
      attachments.resolve(parts, {
        user,
        place,
        sent,
        isStored,
        takesPdf: takesPdf && allowPdf,
        keeping,
        signal,
        ...model,
      }),
    openCompaction: (sealed, param) => contents.openSummary(sealed, { user, param }),
    openThought: (sealed, param) => contents.openThought(sealed, { user, param }),
  };
}

/** The parts that open sealed contents and resolve files. */
export interface ContentSources {
  attachments: Pick<Attachments, 'resolve'>;
  sealed: SealedContents;
  keeping: Keeping;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** An input item with its references, files and sealed contents resolved. */
export type ResolvedItem =
  | Exclude<InputItem, InputMessage | PriorOutput>
  | ResolvedMessage
  | ResolvedOutput
  | ({ type: 'thought' } & Thought);

/** An output with its files resolved. */
export type ResolvedOutput = PriorOutput & { shown?: PlainPart[] };

/** A message with its files resolved. */
export type ResolvedMessage = Omit<InputMessage, 'content'> & { content: PlainPart[] };

/**
 * Turns input items into messages (docs/api.md, "POST /v1/responses"): references are resolved, earlier tool calls become
 * text, and earlier reasoning is dropped.
 * @throws GatewayError `not_found` for an unknown reference, `unsupported_parameter` for an image without vision.
 */
export async function chatMessages(
  items: readonly InputItem[],
  options: ConversationOptions,
): Promise<ConversationMessage[]> {
  const { field } = options;
  const resolved = await resolveFiles(items, options);
  const outputs = new PriorOutputs(resolved);
  const messages: ConversationMessage[] = [];
  for (const [index, item] of resolved.entries()) {
    const found = await resolveItem(item, `${field}[${index}]`, options);
    if (found.type === 'message') {
      const content = found.content.filter(isForResearch);
      if (content.length > 0) messages.push({ role: found.role, content });
      if (found.images) messages.push(imagesOf(found.role, found.images));
      for (const call of found.calls ?? []) messages.push(priorCall(call, outputs.outputOf(call)));
    } else if (found.type === 'tool_call') messages.push(earlierCall(found, options));
    else if (found.type === 'prior_call') messages.push(priorCall(found, outputs.outputOf(found)));
    else if (found.type === 'prior_output') {
      if (found.output !== '' && !outputs.hasCall(found)) messages.push(priorOutput(found.output));
      if (found.images)
        messages.push({
          role: 'user',
          content: [RESULT_IMAGES, ...found.images.map((url): ContentPart => ({ type: 'image', url }))],
        });
    }
  }
  return await withoutForeignMarkers(messages);
}

/**
 * Resolves files for a research model: it gets the text of files, and images if it can see them; in outputs, those that it
 * cannot see are named. Messages before index `from` are left unchanged.
 * @throws GatewayError as `attach` of the options, and `unsupported_parameter` for an image in a message without vision.
 */
export async function resolveFiles(
  items: readonly InputItem[],
  { model, field, isStored, attach }: Pick<ConversationOptions, 'model' | 'field' | 'isStored' | 'attach'>,
  from = 0,
): Promise<InputItem[]> {
  const resolved: InputItem[] = [];
  for (const [index, item] of items.entries()) {
    const place = `${field}[${index}]`;
    if (item.type === 'message' && index >= from) {
      const content = await attach(item.content, `${place}.content`, { allowPdf: item.role === 'user', isStored });
      requireSupportedParts(content, `${place}.content`, model);
      resolved.push({ ...item, content: content.filter(isForResearch) });
    } else if (item.type === 'prior_output' && item.parts) {
      const { parts: given, ...rest } = item;
      const parts = await attach(given, outputPlace(place), { allowPdf: false, isStored });
      const texts = parts.map((part) => asText(part, model).text);
      const images = model.vision ? parts.filter((part) => part.type === 'image').map(({ url }) => url) : [];
      resolved.push({ ...rest, output: texts.join('\n'), ...(images.length > 0 && { images }) });
    } else resolved.push(item);
  }
  return resolved;
}

/** Whether a model accepts a part. */
function supports({ type }: PlainPart, { vision, audio = false }: Modalities): boolean {
  return type === 'image' ? vision : type !== 'audio' || audio;
}

function asText(part: PlainPart, model: Modalities): Extract<PlainPart, { type: 'text' }> {
  return part.type === 'text' ? part : { type: 'text', text: placeholderOf(part, model) };
}

function placeholderOf({ type }: PlainPart, { vision }: Modalities): string {
  if (type === 'image') return vision ? '(an image, which follows)' : '(an image, which is not shown)';
  return type === 'audio' ? '(audio, which is not shown)' : '(a file, which is not shown)';
}

/** The call that an item is, or those that its message made. */
export function callsIn(item: ResolvedItem | InputItem): readonly PriorCall[] {
  if (item.type === 'prior_call') return [item];
  return item.type === 'message' ? (item.calls ?? []) : [];
}

/** Removes calls of a conversation that wait for an output while a copy of them has it. `storedCount`: how many of the first items are stored. */
export function withoutRepeated(items: readonly ResolvedItem[], storedCount: number): readonly ResolvedItem[] {
  const last = new Map<string, number>();
  const open = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if ((item.type !== 'prior_call' && item.type !== 'prior_output') || item.callId === undefined) continue;
    const isCall = item.type === 'prior_call';
    if (isCall) last.set(item.callId, index);
    open.set(item.callId, (open.get(item.callId) ?? 0) + (isCall ? 1 : -1));
  }
  return items.filter((item, index) => {
    if (index >= storedCount || item.type !== 'prior_call' || item.callId === undefined) return true;
    const waiting = open.get(item.callId) ?? 0;
    if (waiting < 1 || last.get(item.callId) === index) return true;
    open.set(item.callId, waiting - 1);
    return false;
  });
}

/** The outputs of a thread by their calls. Each is shown once, with its call. */
class PriorOutputs {
  readonly #byCall = new Map<string, PriorOutput>();
  readonly #called = new Set<string>();

  constructor(items: readonly InputItem[]) {
    for (const item of items) {
      if (item.type === 'prior_output' && item.callId !== undefined) this.#byCall.set(item.callId, item);
      for (const { callId } of callsIn(item)) if (callId !== undefined) this.#called.add(callId);
    }
  }

  outputOf({ callId, output }: PriorCall): string | undefined {
    return output ?? (callId === undefined ? undefined : this.#byCall.get(callId)?.output);
  }

  hasCall({ callId }: PriorOutput): boolean {
    return callId !== undefined && this.#called.has(callId);
  }
}

const RESULT_IMAGES = { type: 'text' as const, text: 'Images of an earlier tool result:' };

/** A call that ran elsewhere, as text. All of it is data, not instructions. */
export function priorCall(call: PriorCall, output: string | undefined): ConversationMessage {
  const name = call.name.replace(/[^\w.-]+/g, ' ').slice(0, MAX_NAME);
  const result = output === undefined ? '' : `\nResult: ${fenceWithoutNonce(output)}`;
  return assistantText(`(Earlier tool call) ${name}: ${fenceWithoutNonce(call.arguments)}${result}`);
}

export function priorOutput(output: string): ConversationMessage {
  return assistantText(`(Earlier tool result) ${fenceWithoutNonce(output)}`);
}

function assistantText(text: string): ConversationMessage {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}

/**
 * Checks the encrypted contents of the items from index `from` on, for which a transcript stands, so that nobody reads them.
 * @throws GatewayError if they were changed or are not the caller's.
 */
export async function checkSealed(items: readonly InputItem[], options: ConversationOptions, from = 0): Promise<void> {
  for (const [index, item] of items.entries()) {
    const isSealed = item.type === 'reasoning' || item.type === 'compaction';
    if (index >= from && isSealed) await resolveItem(item, `${options.field}[${index}]`, options);
  }
}

/** The places of items that are not sent to the model, for `x-ignored-parameters`. */
export function droppedItems(items: readonly { type: string }[], field: string): string[] {
  return items.flatMap(({ type }, index) => (type === 'dropped' ? [`${field}[${index}]`] : []));
}

/** Resolves an item; `place` is its field. @throws GatewayError as its options. */
export async function resolveItem(item: InputItem, place: string, options: ConversationOptions): Promise<ResolvedItem> {
  const { findItem, isStored } = options;
  const found = item.type === 'item_reference' ? parseValue(inputItem, await findItem(item.id, `${place}.id`)) : item;
  if (found.type === 'reasoning' && found.sealed !== undefined) {
    return { type: 'thought', ...(await options.openThought(found.sealed, `${place}.encrypted_content`)) };
  }
  if (found.type === 'message') {
    const isUsers = found.role === 'user';
    const content = await options.attach(found.content, `${place}.content`, { allowPdf: isUsers, isStored });
    const { vision, audio } = options.model;
    // The wires have audio only in user messages.
    requireSupportedParts(content, `${place}.content`, { vision, audio: audio === true && isUsers });
    return isUsers ? { ...found, content } : withoutImages({ ...found, content });
  }
  if (found.type === 'prior_output' && found.parts) {
    const parts = await options.attach(found.parts, outputPlace(place), { allowPdf: true, isStored });
    const isShown = (part: PlainPart) => part.type !== 'text' && supports(part, options.model);
    // The client cannot change the output of its tool, so unsupported parts are named instead of refused.
    const texts = parts.filter((part) => !isShown(part)).map((part) => asText(part, options.model));
    return { ...found, output: contentText(texts), shown: parts.filter(isShown) };
  }
  if (found.type !== 'compaction') return found;
  const summary = await options.openCompaction(found.encrypted_content, `${place}.encrypted_content`);
  return { type: 'message', ...assistantText(summaryText(summary)), role: 'assistant' };
}

/** The wires have images only in user messages, too: those of other messages become `images`. */
function withoutImages(message: ResolvedMessage): ResolvedMessage {
  const urls = message.content.flatMap((part) => (part.type === 'image' ? [part.url] : []));
  if (urls.length === 0) return message;
  const content = message.content.filter(({ type }) => type !== 'image');
  return { ...message, content, images: [...urls, ...(message.images ?? [])] };
}

/** The field with the parts of an output: in a chat it is the content of its message. */
function outputPlace(place: string): string {
  return `${place}.${place.startsWith('messages[') ? 'content' : 'output'}`;
}

/** @throws GatewayError for a part that the model does not accept. */
export function requireSupportedParts(
  parts: readonly PlainPart[],
  place: string,
  { vision, audio = false }: Modalities,
): void {
  for (const [index, part] of parts.entries()) {
    if (supports(part, { vision, audio })) continue;
    const param = `${place}[${index}]`;
    const lacks = part.type === 'image' ? 'read images' : 'hear audio';
    throw fieldError('unsupported_parameter', param, `this model does not ${lacks}.`);
  }
}

function isForResearch(part: PlainPart): part is ContentPart {
  return part.type === 'text' || part.type === 'image';
}

/**
 * A tool call of an earlier answer, as the assistant's text. The result of a tool is data, not instructions. Only in a
 * stored conversation are the numbers of its sources known.
 */
function earlierCall(
  { name, arguments: args = '{}', result }: Extract<InputItem, { type: 'tool_call' }>,
  { isStored = false }: Pick<ConversationOptions, 'isStored'>,
): ConversationMessage {
  const known = isStored ? result : result?.replace(/"source_id":\d+,?/g, '');
  const shown = known === undefined ? '' : `\nResult: ${fenceWithoutNonce(known)}`;
  return assistantText(`(Earlier tool call) ${name} ${fenceWithoutNonce(args)}${shown}`);
}

/** Documents whose whole text is in the input. They can be cited like pages that were read. */
export function citableDocuments(conversation: readonly ConversationMessage[]): EarlierSource[] {
  const texts = conversation.filter(({ role }) => role === 'user').map(({ content }) => contentText(content));
  const documents = attachedDocumentsIn(texts.join('\n'));
  return documents.filter(({ isWhole }) => isWhole).map(({ name, url }) => ({ url, title: name, snippet: '' }));
}
