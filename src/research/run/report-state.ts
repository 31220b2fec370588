import type { IncompleteReason } from '../../protocol/response.ts';
import type { AcceptedPassage, OutlineSection, TranscriptEntry } from './transcript.ts';

/** How far a report by sections is: the fold of its entries (docs/research.md, "Reports"). */
export class ReportState {
  /** Undefined where none was asked for yet; empty: the model wanted none, and the answer is written in one turn. */
  outline: readonly OutlineSection[] | undefined;
  /** The model was told which sections lack records. */
  gapsNamed = false;
  /** Sections that are shown whole. */
  done = 0;
  /** Where the last of them ends, in UTF-16 code units of the answer. */
  length = 0;
  tokens = 0;
  /** Why one of them ends before its end. */
  cut: IncompleteReason | null = null;
  /** The text that is held back until it is checked, so far. */
  draft: { text: string; whole: boolean; cut: IncompleteReason | undefined } | undefined;
  /** The same as it was checked. */
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
        this.draft = { text: (this.draft?.text ?? '') + entry.text, whole: entry.whole, cut: entry.cut };
        break;
      case 'checked':
        this.checked = { text: entry.text, accepted: entry.accepted };
        break;
      case 'section':
        this.done++;
        this.length = entry.length;
        this.tokens += entry.tokens;
        this.cut ??= entry.cut;
        this.draft = undefined;
        this.checked = undefined;
        break;
    }
  }
}
