import { fieldError } from '../../base/errors.ts';
import { textAmong } from '../../base/text.ts';
import { summaryText } from '../../plain/compaction.ts';
import type { SealedContents, Thought } from '../../plain/sealed-contents.ts';
import type { ContentPart, InputPart, PlainPart } from '../../protocol/requests/content-parts.ts';
import type { PriorCall, PriorOutput } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, type InputMessage, inputItem } from '../../protocol/requests/request-input.ts';
import type { ConversationMessage, EarlierSource } from '../../research/run/request.ts';
import { fencePlainly } from '../../research/text/fence.ts';
import type { Caller } from '../../runs/runs.ts';
import { attachedIn } from '../../tools/attached-file.ts';
import type { Attachments } from './attachments.ts';
import type { FindItem } from './references.ts';

/** The longest name of a tool that ran elsewhere, in UTF-16 code units. */
const MAX_NAME = 128;

/** What of a message a model takes as it is, beside text. */
interface Senses {
  vision: boolean;
  /** Absent: it does not. */
  audio?: boolean;
}

/** What turning input into a conversation needs to know. */
export interface ConversationOptions {
  model: Senses;
  /** `input`, `messages` or `conversation`, for errors. */
  field: string;
  /** Whether they stand in a conversation; see `AttachmentContext`. */
  isKept?: boolean;
  findItem: FindItem;
  /** What a compaction item says; `param` names the field. @throws GatewayError where it is not the caller's. */
  openCompaction(sealed: string, param: string): Promise<string>;
  /** What the client kept of a thought, as `openCompaction`. */
  openThought(sealed: string, param: string): Promise<Thought>;
  /** Files among parts, as the model is sent them; `place` is the list. */
  attach(parts: readonly InputPart[], place: string, how: AttachedHow): Promise<PlainPart[]>;
}

interface AttachedHow extends Pick<ConversationOptions, 'isKept'> {
  /** By the user, who alone gives PDFs. */
  isTold: boolean;
}

/** Reads what clients keep sealed or attach, for one request of theirs. `model`: see `AttachmentContext`. */
export function openedFor(
  { user }: Caller,
  { sealed: contents, attachments }: Sealed,
  {
    takesPdf = false,
    sentBefore = 0,
    ...model
  }: { opens: boolean; window: number; takesPdf?: boolean; sentBefore?: number },
): Pick<ConversationOptions, 'openCompaction' | 'openThought' | 'attach'> {
  const sent = { bytes: sentBefore };
  return {
    attach: (parts, place, { isTold, isKept = false }) =>
      attachments.resolve(parts, { user, place, sent, isKept, takesPdf: takesPdf && isTold, ...model }),
    openCompaction: (sealed, param) => contents.openSummary(sealed, { user, param }),
    openThought: (sealed, param) => contents.openThought(sealed, { user, param }),
  };
}

/** The parts that read what clients keep sealed, or attach. */
export interface Sealed {
  attachments: Pick<Attachments, 'resolve'>;
  sealed: SealedContents;
}

/** What an item of the input stands for. */
export type FoundItem =
  | Exclude<InputItem, InputMessage | PriorOutput>
  | SaidMessage
  | FoundOutput
  | ({ type: 'thought' } & Thought);

/** An output whose files were looked up. */
export type FoundOutput = PriorOutput & { shown?: PlainPart[] };

/** A message whose files were looked up. */
export type SaidMessage = Omit<InputMessage, 'content'> & { content: PlainPart[] };

/**
 * Input items as messages (docs/api.md, "POST /v1/responses"): references are looked up, earlier tool calls become
 * context, here or elsewhere; earlier reasoning is dropped.
 * @throws GatewayError `not_found` for an unknown reference, `unsupported_parameter` for an image without vision.
 */
export async function chatMessages(
  items: readonly InputItem[],
  options: ConversationOptions,
): Promise<ConversationMessage[]> {
  const { field } = options;
  const told = await withFilesRead(items, options);
  const outputs = new PriorOutputs(told);
  const messages: ConversationMessage[] = [];
  for (const [index, item] of told.entries()) {
    const found = await standsFor(item, `${field}[${index}]`, options);
    if (found.type === 'message') {
      checkParts(found.content, `${field}[${index}].content`, options.model);
      const content = found.content.filter(isForResearch);
      if (content.length > 0) messages.push({ role: found.role, content });
      for (const call of found.calls ?? []) messages.push(priorCall(call, outputs.of(call)));
    } else if (found.type === 'tool_call') messages.push(earlierCall(found));
    else if (found.type === 'prior_call') messages.push(priorCall(found, outputs.of(found)));
    else if (found.type === 'prior_output') {
      if (found.output !== '' && !outputs.isTaken(found)) messages.push(priorOutput(found.output));
      if (found.images)
        messages.push({
          role: 'user',
          content: [RESULT_IMAGES, ...found.images.map((url): ContentPart => ({ type: 'image', url }))],
        });
    }
  }
  return messages;
}

/**
 * The items with their files and images as a research model is told them: files as their text, images as they are. Of an
 * output, images are named where it does not see them. Messages before the place `from` are left as they are.
 * @throws GatewayError as `attach` of the options, and `unsupported_parameter` for an image in a message without vision.
 */
export async function withFilesRead(
  items: readonly InputItem[],
  { model, field, isKept, attach }: Pick<ConversationOptions, 'model' | 'field' | 'isKept' | 'attach'>,
  from = 0,
): Promise<InputItem[]> {
  const read: InputItem[] = [];
  for (const [index, item] of items.entries()) {
    const place = `${field}[${index}]`;
    if (item.type === 'message' && index >= from) {
      const content = await attach(item.content, `${place}.content`, { isTold: item.role === 'user', isKept });
      checkParts(content, `${place}.content`, model);
      read.push({ ...item, content: content.filter(isForResearch) });
    } else if (item.type === 'prior_output' && item.parts) {
      const { parts: given, ...rest } = item;
      const parts = await attach(given, outputPlace(place), { isTold: false, isKept });
      const texts = parts.map((part) => asText(part, model).text);
      const images = model.vision ? parts.filter((part) => part.type === 'image').map(({ url }) => url) : [];
      read.push({ ...rest, output: texts.join('\n'), ...(images.length > 0 && { images }) });
    } else read.push(item);
  }
  return read;
}

/** Whether a model takes a part as it is. */
function senses({ type }: PlainPart, { vision, audio = false }: Senses): boolean {
  return type === 'image' ? vision : type !== 'audio' || audio;
}

function asText(part: PlainPart, model: Senses): Extract<PlainPart, { type: 'text' }> {
  return part.type === 'text' ? part : { type: 'text', text: nameOf(part, model) };
}

function nameOf({ type }: PlainPart, { vision }: Senses): string {
  if (type === 'image') return vision ? '(an image, which follows)' : '(an image, which is not shown)';
  return type === 'audio' ? '(audio, which is not shown)' : '(a file, which is not shown)';
}

/** The calls that an item is, or that its message made. */
export function callsIn(item: FoundItem | InputItem): readonly PriorCall[] {
  if (item.type === 'prior_call') return [item];
  return item.type === 'message' ? (item.calls ?? []) : [];
}

/** The outputs of a thread by the calls that they belong to; each comes once, with its call. */
class PriorOutputs {
  readonly #byCall = new Map<string, PriorOutput>();
  readonly #called = new Set<string>();

  constructor(items: readonly InputItem[]) {
    for (const item of items) {
      if (item.type === 'prior_output' && item.callId !== undefined) this.#byCall.set(item.callId, item);
      for (const { callId } of callsIn(item)) if (callId !== undefined) this.#called.add(callId);
    }
  }

  of({ callId, output }: PriorCall): string | undefined {
    return output ?? (callId === undefined ? undefined : this.#byCall.get(callId)?.output);
  }

  isTaken({ callId }: PriorOutput): boolean {
    return callId !== undefined && this.#called.has(callId);
  }
}

const RESULT_IMAGES = { type: 'text' as const, text: 'Images of an earlier tool result:' };

/** A call that ran elsewhere: all of it is data. */
export function priorCall(call: PriorCall, output: string | undefined): ConversationMessage {
  const name = call.name.replace(/[^\w.-]+/g, ' ').slice(0, MAX_NAME);
  const result = output === undefined ? '' : `\nResult: ${fencePlainly(output)}`;
  return said(`(Earlier tool call) ${name}: ${fencePlainly(call.arguments)}${result}`);
}

export function priorOutput(output: string): ConversationMessage {
  return said(`(Earlier tool result) ${fencePlainly(output)}`);
}

function said(text: string): ConversationMessage {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}

/** Items that say nothing to a model, by their places, for `x-ignored-parameters`. */
export function droppedItems(items: readonly { type: string }[], field: string): string[] {
  return items.flatMap(({ type }, index) => (type === 'dropped' ? [`${field}[${index}]`] : []));
}

/** What an item says that stands for something else; `place` is where it stands. @throws GatewayError as its options. */
export async function standsFor(item: InputItem, place: string, options: ConversationOptions): Promise<FoundItem> {
  const { findItem, isKept } = options;
  const found = item.type === 'item_reference' ? parseValue(inputItem, await findItem(item.id, `${place}.id`)) : item;
  if (found.type === 'reasoning' && found.sealed !== undefined) {
    return { type: 'thought', ...(await options.openThought(found.sealed, `${place}.encrypted_content`)) };
  }
  if (found.type === 'message')
    return {
      ...found,
      content: await options.attach(found.content, `${place}.content`, { isTold: found.role === 'user', isKept }),
    };
  if (found.type === 'prior_output' && found.parts) {
    const parts = await options.attach(found.parts, outputPlace(place), { isTold: true, isKept });
    const isShown = (part: PlainPart) => part.type !== 'text' && senses(part, options.model);
    // A client cannot take back what its tool gave: what is not shown is named.
    const told = parts.filter((part) => !isShown(part)).map((part) => asText(part, options.model));
    return { ...found, output: textAmong(told), shown: parts.filter(isShown) };
  }
  if (found.type !== 'compaction') return found;
  const summary = await options.openCompaction(found.encrypted_content, `${place}.encrypted_content`);
  return { type: 'message', ...said(summaryText(summary)), role: 'assistant' };
}

/** Where the parts of an output stand: in a chat they are the content of its message. */
function outputPlace(place: string): string {
  return `${place}.${place.startsWith('messages[') ? 'content' : 'output'}`;
}

/** @throws GatewayError for a part that the model does not take. */
export function checkParts(parts: readonly PlainPart[], place: string, { vision, audio = false }: Senses): void {
  for (const [index, part] of parts.entries()) {
    if (senses(part, { vision, audio })) continue;
    const param = `${place}[${index}]`;
    const lacks = part.type === 'image' ? 'read images' : 'hear audio';
    throw fieldError('unsupported_parameter', param, `this model does not ${lacks}.`);
  }
}

function isForResearch(part: PlainPart): part is ContentPart {
  return part.type === 'text' || part.type === 'image';
}

/** A tool call of an earlier answer, as something the assistant said; what a tool returned is data, not instruction. */
function earlierCall(call: Extract<InputItem, { type: 'tool_call' }>): ConversationMessage {
  const result = call.result === undefined ? '' : `\nResult: ${fencePlainly(call.result)}`;
  return said(`(Earlier tool call) ${call.name} ${call.arguments ?? '{}'}${result}`);
}

/** Documents whose text stands in the input: they can be cited like what was read. */
export function shownDocuments(conversation: readonly ConversationMessage[]): EarlierSource[] {
  const said = conversation.filter(({ role }) => role === 'user').map(({ content }) => textAmong(content));
  const documents = attachedIn(said.join('\n'));
  return documents.filter(({ isWhole }) => isWhole).map(({ name, url }) => ({ url, title: name, snippet: '' }));
}
