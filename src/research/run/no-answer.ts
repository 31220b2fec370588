import { GatewayError } from '../../base/errors.ts';
import type { IncompleteReason } from '../../protocol/response.ts';

/** The model was asked for a text and wrote none. The rest of the answer may do without that text. */
export class EmptyAnswer extends GatewayError {
  /** Why a text of which this is a part is cut short. */
  readonly cut: IncompleteReason;

  constructor(message: string, { cut = 'stuck', ...options }: ErrorOptions & { cut?: IncompleteReason } = {}) {
    super('upstream_error', message, options);
    this.cut = cut;
  }

  static tooCostly(): EmptyAnswer {
    return new EmptyAnswer('What is left of max_cost does not pay for another turn.', { cut: 'budget' });
  }

  static twice(): EmptyAnswer {
    return new EmptyAnswer('The provider gave an empty answer twice.');
  }

  static byFilter(): EmptyAnswer {
    return new EmptyAnswer('The provider stopped the answer by its content filter.');
  }
}

/** The time for the answer ran out before any of it was written. */
export class NoAnswerInTime extends GatewayError {
  readonly cut = 'budget';

  constructor(cause?: unknown) {
    super('upstream_timeout', 'No answer was written in time.', { cause });
  }
}
