import { pageAddress } from '../../base/hosts.ts';
import { isObject } from '../../base/json.ts';
import { imageUrlIn, isImageData } from '../../protocol/made-images.ts';
import { brokenStream } from '../routing/attempt-failure.ts';
import { saysSomething } from './answer-signs.ts';
import type { DecoderOptions, Deltas } from './decoded-turn.ts';

/** How many images one answer may have. */
const MAX_IMAGES = 100;

/** The images and the sound of an answer. */
export class MadeMedia {
  readonly #deltas: Deltas;
  readonly #takesImages: boolean;
  readonly #write: (text: string) => void;
  /** All images so far: some servers repeat them with each event. */
  readonly #known = new Set<string>();
  /** Data URLs. */
  readonly images: string[] = [];
  /** The words of the sound. */
  transcript = '';
  isSpoken = false;
  readonly #leftOut = new Set<string>();

  /** `write` adds to the text of the answer. */
  constructor(deltas: Deltas, { takesImages = false }: DecoderOptions, write: (text: string) => void) {
    this.#deltas = deltas;
    this.#takesImages = takesImages;
    this.#write = write;
  }

  /** What of the answer is left out, for warnings. */
  get leftOut(): string[] {
    return [
      ...this.#leftOut,
      ...(this.isSpoken ? ['The sound of the answer is left out: only its words are here.'] : []),
    ];
  }

  /** Adds the images in a list of parts, or of a chat message. */
  addImages(parts: unknown): void {
    for (const part of Array.isArray(parts) ? parts : []) this.addImage(imageUrlIn(part));
  }

  /**
   * An image at an address becomes a Markdown image of the text, because the Responses API has images as bytes alone.
   * @throws AttemptFailure for an endless answer.
   */
  addImage(url: string | undefined): void {
    if (url === undefined) return;
    if (this.#known.has(url)) return void this.#deltas.countRepeated(url.length);
    if (this.#known.size >= MAX_IMAGES) throw brokenStream('the answer does not end');
    this.#known.add(url);
    if (!this.#takesImages)
      this.#leftOut.add('An image of the model is left out: only responses of plain models have them.');
    else if (isImageData(url)) {
      this.#deltas.countImage(url);
      this.images.push(url);
    } else if (pageAddress(url) !== undefined) this.#link(url);
    else this.#leftOut.add('An image of the model is left out: it has neither its bytes nor a web address.');
  }

  /** `audio` of a chat message or delta, or a part of a message of the Responses API. */
  addSound(audio: unknown): void {
    if (!isObject(audio)) return;
    const { data, transcript } = audio;
    this.isSpoken ||= typeof data === 'string' && data !== '';
    if (typeof transcript !== 'string') return;
    this.#deltas.countRepeated(transcript.length);
    this.#deltas.hasOutput ||= saysSomething(transcript);
    this.transcript += transcript;
    this.isSpoken ||= transcript !== '';
  }

  #link(url: string): void {
    const { text } = this.#deltas;
    if (text.includes(url)) return;
    const address = URL.parse(url)?.href.replaceAll('(', '%28').replaceAll(')', '%29') ?? '';
    this.#write(`${text === '' ? '' : '\n\n'}![image](${address})`);
  }
}
