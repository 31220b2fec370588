/**
 * The weight of each feature of a block for and against its being main text, from a logistic regression over the
 * blocks of pages whose text is known (docs/evaluation.md). A line is a feature, then its values with their weights.
 */
const TABLE = `
  length: 0 0.55 1 -0.09 2 -0.41 3 -0.26 4 -0.68 5 0.07 6 0.67 7 0.39
  linked short: 0 0.38 1 0.15 2 0.8 3 -0.33
  kind: article -0.3 aside -0.07 blockquote 0.08 dd 0.25 div -0.58 dt 0.33 figcaption 0.45 footer -0.41 h1 -0.38
  kind: h2 0.4 h3 -0.29 h4 -0.25 header -0.07 li 0.3 other -1.56 p -0.35 pre 1.28 section -0.21 summary 0.53 td 0.34
  kind: th 0.91
  kind prose: 0 -0.53 1 0.06 2 -0.12 3 0.28 4 0.42 5 0.31
  kind count: 0 -0.61 1 -0.06 2 -0.12 3 0.13 4 0.53 5 0.41
  out: 0 0.25 1 0.4 2 0.15 4 0.27 5 -0.82 6 -0.05
  down: 0 0.11 1 0.42 2 0.23 3 0.12 4 -0.31 5 0.16 6 -0.44
  position above: title -0.55
  far above title: 0 -0.51 1 0.11 2 0.06 3 -0.19 4 0.26 5 0.18 6 -0.36 7 -0.15
  article yes above title else: link 0.34 prose 0.06 short 0.34
  page 1 else: code 0.05 heading -0.41 link -0.48 prose 0.28 short -0.35
  page 1: before 1.17 behind -0.16
  holder else: 0 1.13 1 0.26 2 -0.73 3 -0.51
  not in: article -0.23
  main out: heading 0.28 link -0.08 short -0.99
  main out kind: article -0.23 aside -0.08 div 0.34 dt -0.07 figcaption 0.84 footer -0.06 h1 0.39 h2 0.24 h3 -0.29
  main out kind: h4 -0.17 li -0.28 other -0.08 p -1.15 td -0.12
  next -2: code 0.51 heading 0.25 link -0.55 none -0.7 prose -0.17 short 0.09
  next -1: code 0.67 heading -0.67 link -0.24 none 0.79 prose -0.13 short -0.37
  next 1: code 0.78 heading -0.26 link -0.18 none 0.21 prose 0.09 short -0.14
  next 2: code 0.59 heading -0.19 link -0.63 none -0.68 prose -0.14 short -0.24
  near linked: 0 0.29 1 0.08 2 -0.09 3 -0.08
  near prose: 0 0.26 1 0.47 3 0.06 4 -0.28 5 -0.27
  echo near above title: 0 -0.39 1 -0.49 2 -0.14 3 0.42
  chunk text: 0 0.07 1 0.64 2 0.35 3 -0.12 4 -0.25 5 -0.62
  chunk prose: 0 -0.33 1 0.14 2 0.21 3 -0.05 4 0.15
  chunk linked: 0 -0.36 1 0.08 2 -0.11 3 0.13 4 0.22
  chunk links: 0 0.42 1 0.21 3 -0.48 4 -0.12
  chunk headings: 0 -0.11 1 0.34 2 -0.06 3 -0.11
  chunk: fields -0.57
  chunk share: 0 -0.33 1 0.08 3 0.32 4 0.09
  chunk alike: 0 -0.56 1 -0.46 2 0.27 3 0.96
  chunk kind: article -0.29 aside -0.56 div -0.1 dl 0.39 figure -0.09 footer -0.75 form -0.18 h1 0.55 h2 0.53
  chunk kind: h3 -0.47 h4 1.14 header -0.29 nav -0.27 ol -0.81 other -0.3 p 1.35 pre 0.17 section 0.4 table -0.29
  chunk kind: ul -0.11
  box linked: 0 0.53 1 -0.16 2 -0.36
  box alike: 0 0.14 1 0.18 2 -0.35 3 -0.09 4 0.14
  group: none -0.14
  linked: 0 0.43 1 0.71 2 -0.48 3 -0.56 4 -0.87
  next 1 sibling: code 0.85 heading -0.57 link -0.33 short -0.13
  next 2 sibling: code 0.28 heading 0.49 prose 0.2 short 0.63
  group else list linked: 0 0.05 1 -0.35 2 0.18 3 -0.28 4 -0.14
  list 4 item: 0 0.39 1 -0.5 2 0.16 3 -0.12 4 -0.17 5 0.7
  group else items: 0 0.3 2 -0.51 3 -0.08 4 -0.28 5 -0.59
  group above title linked: 0 -0.18 1 -0.07 2 -0.62 3 -0.3 4 -0.79
  next -1 sibling: code 0.32 heading 0.19 link -0.64 prose 0.09 short 0.28
  next -2 sibling: code 0.4 heading 0.66 prose -0.17
  in else: article 0.62 aside 0.21 body 1.08 button -0.26 comment 1.15 figure -0.31 footer -1.12 form -0.54
  in else: frame -0.14 header 0.08 hidden -0.69 main 0.21 nav 0.77 table 0.6
  text: again 0.17 capitals -0.9 date -0.52 signs -0.94
  list 3 item: 0 -0.42 1 -0.29 2 -0.76 3 1.19 4 -0.24
  list 2 item: 0 -0.07 1 -0.44 2 -0.11 3 0.52 4 0.45
  main in: code 0.64 heading 0.3 link -0.88 prose -0.2
  main in kind: article -0.07 blockquote -0.25 dd -0.4 div -0.73 dt 0.34 figcaption -1.04 footer -0.33 h1 -0.38
  main in kind: h2 0.2 h3 -0.22 h4 -0.4 header 0.07 li 0.85 other -0.12 p 0.43 pre 0.64 section -0.05 summary 0.09
  main in kind: td 0.69 th 0.32
  position: before 0.55 behind -0.41 title 0.55 within 0.24
  far title: 0 -0.67 1 0.52 2 -0.21 3 -0.34 4 0.28 5 0.5 6 -0.68 7 1.13
  article yes title else: heading -0.89 prose -0.25
  echo near title: 0 0.56 1 0.1 2 0.17 3 -0.28
  ends: colon -0.06 long 1.71 short 1.42
  far before: 1 -0.2 2 -0.09 3 0.14 4 -0.16 5 -0.47 6 0.81 7 0.52
  article yes before else: heading -0.51 link -0.18 prose 0.72 short -0.57
  echo near before: 0 -0.06 1 0.72 2 -0.25 3 0.14
  group before linked: 0 0.12 1 0.29 2 -0.33 3 0.48 4 -0.38
  far within: 0 0.24
  article yes within own: code -0.36 link -1.06 prose 0.13 short -0.74
  page 1 own: code 0.45 heading 0.68 link -0.15 prose 0.56 short 0.37
  holder own: 0 0.26 1 -0.21 2 -0.14 3 0.29
  in own: article -0.06 aside -0.6 body -0.28 comment 0.21 figure -0.46 footer -1.08 frame -1.87 header -0.11
  in own: hidden -0.47 main 0.4 nav -0.47 table 1.4
  echo near within: 2 -0.56 3 0.84
  far behind: 1 0.1 2 0.33 3 0.31 4 -0.09 6 -0.46 7 -0.7
  article yes behind else: heading -1.38 link -0.09 prose -0.69 short -0.53
  echo near behind: 0 -0.26 1 -0.31 3 0.07
  group behind linked: 0 0.72 1 -0.13 2 0.76 3 -0.17 4 0.51
  group else other linked: 0 0.28 1 0.12 2 -0.98 3 0.4 4 -0.41
  page 3 else: code 0.08 link 0.92 prose -0.36 short -0.65
  page 3: before -0.77 behind -0.73
  page 3 own: code 0.28 heading 0.17 link -0.78 prose -0.56 short -0.65
  article yes before own: heading -0.65 link -0.46 prose -0.65 short -0.62
  group own list linked: 0 0.43 1 0.21 2 0.19 3 -0.27 4 0.61
  list 0 item: 0 -0.37 1 0.32 2 0.92 3 0.45 5 -0.87
  group own items: 0 -0.35 1 0.28 2 0.2 3 0.83 4 -0.1 5 0.67
  text title: again 1.57
  main none: code 0.64 heading 0.17 link 0.22 prose 0.1 short 0.2
  main none kind: blockquote 0.34 dd 0.66 div -0.21 dt 0.07 figcaption 0.65 h1 -0.39 h3 0.22 h4 0.32 header -0.11
  main none kind: li -0.21 other -1.36 p 0.13 pre 0.64 section -0.13 summary 0.44 td -0.23 th 0.59
  article yes behind own: code 0.05 heading -0.7 link -0.7 prose -0.21 short 0.15
  page 2 else: code 0.26 heading -0.26 prose -0.08 short -0.2
  page 2: before -0.41 behind -0.34 within -0.16
  list 1 item: 0 -0.05 1 0.27 2 -0.45 3 0.88 4 -0.93 5 0.13
  page 2 own: code 0.12 heading -0.19 link -1.17 prose 0.4 short 0.21
  told: no -0.9 short -0.13 yes 0.93
  group own other linked: 0 0.41 1 0.2 2 -0.21 3 0.23 4 -0.25
  group within linked: 0 0.45 1 -0.11 2 0.28 3 0.11 4 0.48
  article no before else: code 0.07 heading 0.31 link 0.16 prose 0.63 short 0.43
  article no before own: heading 0.68 link 0.46 prose 0.27 short 0.42
  article no within own: code 0.49 heading 0.53 link 0.74 prose 0.06 short 0.41
  article no behind own: code 0.68 link 0.15 prose 0.98 short 1.04
  article no behind else: code 0.31 heading -0.14 link 0.69 short -0.16
  article yes title own: heading 0.07 prose -0.74
  article yes above title own: link -0.41 prose -0.52 short -0.38
  article no above title else: heading 0.5 prose -0.37 short -0.18
  article no title else: heading 1.72 prose -0.28
  group title linked: 0 0.06 1 0.19 2 -0.92 3 -0.05
  text no: letters 1.19
  article no above title own: heading 0.35 link -0.4 prose 0.57 short -0.45
  article no title own: heading 0.86 prose 0.07
  page 0 else: heading 0.23 link 0.44 short 0.54
  page 0: before 0.56 behind 0.77 within 0.34
  page 0 own: code 0.05 heading 0.52 link 0.44 prose -0.46 short -0.1
`;

/** The score that every block starts with. */
export const BIAS = 0.35;

/** Weights by feature and value. */
export const WEIGHTS: ReadonlyMap<string, number> = new Map(TABLE.trim().split('\n').flatMap(entries));

function entries(line: string): [string, number][] {
  const [name = '', values = ''] = line.trim().split(':');
  const words = values.trim().split(' ');
  return words.flatMap((value, at): [string, number][] =>
    at % 2 === 0 ? [[`${name} ${value}`, Number(words[at + 1])]] : [],
  );
}
