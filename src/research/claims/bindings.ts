import { isAmong, type Mark, sameMark } from './marks.ts';

/**
 * Whether a figure of a claim belongs to something else in the source: there the subject of the claim is next to another
 * figure of the same kind, which the claim does not mention, and next to the claim's figure is something that the claim
 * leaves out. `Sales at A rose 2 %, those at B fell 3 %` does not support `Sales at B rose 2 %`.
 */
export function isBoundElsewhere(clause: readonly Mark[], claim: readonly Mark[], source: readonly Mark[]): boolean {
  const words = clause.filter(isWord);
  return clause.some((figure) => {
    const places = 'figure' in figure.of ? source.filter((other) => sameMark(figure, other)) : [];
    const rivals = source.filter((other) => other.kind === figure.kind && !isAmong(other, claim));
    return (
      places.length > 0 &&
      places.every((place) => {
        const own = source.filter((mark) => governs(mark, place, source));
        const leftOut = source.filter((mark) => mark.clause === place.clause && isWord(mark) && !isAmong(mark, clause));
        return rivals.some((rival) =>
          claimsWords(rival, { place, leftOut, strange: words.filter((word) => !isAmong(word, own)), source }),
        );
      })
    );
  });
}

/** Whether words of the claim belong to a rival figure. Words after a figure never do; those before it may still apply. */
function claimsWords(
  rival: Mark,
  {
    place,
    leftOut,
    strange,
    source,
  }: { place: Mark; leftOut: readonly Mark[]; strange: readonly Mark[]; source: readonly Mark[] },
): boolean {
  if (rival.clause === place.clause || leftOut.length === 0) return false;
  const beside = source.filter(({ clause }) => clause === rival.clause);
  const claimed = strange.filter((word) => isAmong(word, beside));
  const isNear = rival.sentence === place.sentence;
  if (isNear && rival.clause.start > place.clause.start) return claimed.length > 0;
  if (claimed.some(({ isPlain }) => !isPlain) && leftOut.some(({ isPlain }) => !isPlain)) return true;
  return (
    isNear && claimed.length > 1 && claimed.length === strange.length && leftOut.some(({ end }) => end <= place.start)
  );
}

function isWord({ of }: Mark): boolean {
  return 'word' in of;
}

/** Whether a mark is in the clause of a figure, or in an earlier clause of its sentence that has no figure of its own. */
function governs(mark: Mark, place: Mark, source: readonly Mark[]): boolean {
  if (mark.clause === place.clause) return true;
  if (mark.sentence !== place.sentence || mark.clause.start > place.clause.start) return false;
  return !source.some((other) => other.clause === mark.clause && other.kind === place.kind);
}
