import type { IncompleteReason } from '../../protocol/response.ts';
import type { AcceptedPassage, OutlineSection, TranscriptEntry } from './transcript.ts';

/** The progress of a report with sections: the fold of its entries (docs/research.md, "Reports"). */
export class ReportState {
  /** Undefined until it was requested; empty if the model wanted none, and the answer is written in one turn. */
  outline: readonly OutlineSection[] | undefined;
  /** Whether the model was told which sections lack records. */
  gapsNamed = false;
  /** How many sections are completely sent. */
  sectionsDone = 0;
  /** Where the last of them ends, in UTF-16 code units of the answer. */
  length = 0;
  tokens = 0;
  /** Why one of them was cut short, if one was. */
  cut: IncompleteReason | null = null;
  /** The text so far that is buffered until it is checked. One that follows a whole text replaces it. */
  draft: { text: string; whole: boolean; cut: IncompleteReason | undefined } | undefined;
  /** That text after the check. */
  checked: { text: string; accepted: readonly AcceptedPassage[] } | undefined;

  apply(entry: TranscriptEntry): void {
    switch (entry.t) {
      case 'outline':
        this.outline = entry.sections;
        break;
      case 'reminder':
        this.gapsNamed ||= this.outline !== undefined;
        break;
      case 'draft':
        this.draft = {
          text: (this.draft?.whole === false ? this.draft.text : '') + entry.text,
          whole: entry.whole,
          cut: entry.cut,
        };
        break;
      case 'checked':
        this.checked = { text: entry.text, accepted: entry.accepted };
        break;
      case 'section':
        this.sectionsDone++;
        this.length = entry.length;
        this.tokens += entry.tokens;
        this.cut ??= entry.cut;
        this.draft = undefined;
        this.checked = undefined;
        break;
    }
  }
}
