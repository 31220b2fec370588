import { topLevelSpans } from '../../protocol/requests/json-spans.ts';
import type { StreamRequest } from './stream-kind.ts';

/** What a request says about its answer; looked at where it is asked for. */
export function requestOfStream(body: Buffer): StreamRequest {
  return {
    several: () => valuesOf(body, 'n').some((value) => Number(value) > 1),
    // A stop sequence may come at once, and where a text is filled in nothing may be missing.
    mayBeEmpty: () => ['stop', 'suffix'].some((name) => valuesOf(body, name).some((value) => !NOTHING.test(value))),
  };
}

const NOTHING = /^(?:null|""|\[\s*\])$/;

function valuesOf(body: Buffer, name: string): string[] {
  return topLevelSpans(body, name).map(({ start, end }) => body.toString('utf8', start, end));
}
