import type { Clock } from '../../base/clock.ts';
import { counted } from '../../base/text.ts';
import type { RunEvent } from '../../protocol/events.ts';
import { duration, fitTo } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { RunView } from './run-view.ts';

const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const REDRAW_MS = 100;
const CLEAR_LINE = '\r\u001b[2K';
/** Maximum width of a plain line, so that a long thought stays readable. */
const PLAIN_COLUMNS = 400;

/**
 * Shows the progress of a run: one line that is rewritten if the terminal can do that, plain lines otherwise. `verbose`:
 * plain lines in both cases, above the rewritten one.
 */
export class Progress implements Disposable {
  readonly view = new RunView();
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #mode: { live: boolean; lines: boolean };
  readonly #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(options: { terminal: Terminal; clock: Clock; verbose: boolean; quiet: boolean }) {
    const { terminal, clock, verbose, quiet } = options;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#mode = { live: terminal.live && !quiet, lines: !quiet && (verbose || !terminal.live) };
    if (this.#mode.live) this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  update(event: RunEvent): void {
    const line = this.view.update(event);
    if (line !== undefined) this.note(line);
  }

  /** Shows a line of plain output. */
  note(line: string): void {
    if (this.#mode.lines) this.#printAbove(`${this.elapsed().padStart(5)}  ${fitTo(line, PLAIN_COLUMNS)}\n`);
  }

  elapsed(): string {
    return duration(this.#clock.now() - this.#startedAt);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (this.#mode.live) this.#terminal.err(CLEAR_LINE);
  }

  #printAbove(text: string): void {
    this.#terminal.err(this.#mode.live ? CLEAR_LINE + text : text);
    if (this.#mode.live) this.#draw();
  }

  #draw(): void {
    const spinner = SPINNER[this.#frame++ % SPINNER.length];
    const { phase, toolCalls, sources } = this.view;
    const line = [`${spinner} ${this.elapsed()} ${phase}`, counted(toolCalls, 'tool call'), counted(sources, 'source')];
    this.#terminal.err(CLEAR_LINE + fitTo(line.join(' · '), this.#terminal.columns() - 1));
  }
}
