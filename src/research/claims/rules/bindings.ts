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
        const strange = words.filter((word) => !isAmong(word, own));
        // Words after a figure never belong to it; those before it may still apply.
        const isLater = ({ clause, sentence }: Mark) =>
          sentence === place.sentence && clause.start > place.clause.start;
        const isBeside = (rival: Mark) =>
          strange.some((word) => source.some((other) => other.clause === rival.clause && sameMark(word, other)));
        return leftOut.length > 0 && rivals.some((rival) => isLater(rival) && isBeside(rival));
      })
    );
  });
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
