import { GatewayError } from '../../base/errors.ts';

/** The model was asked for a text and gave none. The other parts of an answer may do without it. */
export class NothingWritten extends GatewayError {
  constructor(message: string, options?: ErrorOptions) {
    super('upstream_error', message, options);
  }

  static twice(): NothingWritten {
    return new NothingWritten('The provider gave an empty answer twice.');
  }

  static byFilter(): NothingWritten {
    return new NothingWritten('The provider stopped the answer by its content filter.');
  }
}

/** The time for the answer ran out before any of it was written. */
export function noAnswerInTime(cause: unknown): GatewayError {
  return new GatewayError('upstream_timeout', 'No answer was written in time.', { cause });
}
