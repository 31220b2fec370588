/** Words as they are spread in texts: few are common, most are rare. */
export function word(seed: number): string {
  const rank = Math.floor(30_000 ** ((Math.imul(seed, 2654435761) >>> 0) / 2 ** 32));
  return `${STEMS[rank % STEMS.length]}${rank.toString(36)}`;
}

const STEMS = ['harbour', 'engine', 'valley', 'copper', 'method', 'winter', 'signal', 'market', 'garden', 'letter'];
