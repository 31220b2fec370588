import { GatewayError } from '../../base/errors.ts';

/** The model was asked for a text and wrote none. The rest of the answer may do without that text. */
export class EmptyAnswer extends GatewayError {
  constructor(message: string, options?: ErrorOptions) {
    super('upstream_error', message, options);
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
  constructor(cause?: unknown) {
    super('upstream_timeout', 'No answer was written in time.', { cause });
  }
}
