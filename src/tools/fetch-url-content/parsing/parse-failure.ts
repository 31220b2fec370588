/** Why a document was not read. */
export type ParseFailureKind = 'timeout' | 'memory' | 'crashed' | 'unreadable' | 'busy';

export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly kind: ParseFailureKind;

  constructor(kind: ParseFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
