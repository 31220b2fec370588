/** Parses a table of LaTeX commands and their characters, written as `name=character` pairs. */
const parsePairs = (pairs) =>
  new Map(
    pairs
      .trim()
      .split(/\s+/)
      .map((pair) => pair.split('=', 2)),
  );

export const LETTERS = parsePairs(`
alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ
nu=ν xi=ξ omicron=ο pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω
Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω
infty=∞ partial=∂ nabla=∇ hbar=ℏ ell=ℓ Re=ℜ Im=ℑ aleph=ℵ emptyset=∅ varnothing=∅ degree=° angle=∠ imath=ı jmath=ȷ
ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ dotsc=… dotsb=⋯ top=⊤ bot=⊥ dagger=† checkmark=✓
`);

export const OPERATORS = parsePairs(`
times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ ominus=⊖ otimes=⊗ odot=⊙ setminus=∖
le=≤ leq=≤ leqslant=⩽ ge=≥ geq=≥ geqslant=⩾ ne=≠ neq=≠ approx=≈ sim=∼ simeq=≃ cong=≅ equiv=≡ propto=∝ ll=≪ gg=≫
lesssim=≲ gtrsim=≳ prec=≺ succ=≻ doteq=≐ to=→ rightarrow=→ leftarrow=← gets=← leftrightarrow=↔ longrightarrow=⟶
uparrow=↑ downarrow=↓ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ iff=⟺ mapsto=↦ rightleftharpoons=⇌
in=∈ notin=∉ ni=∋ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇ cup=∪ cap=∩ forall=∀ exists=∃ nexists=∄ neg=¬ lnot=¬
land=∧ wedge=∧ lor=∨ vee=∨ vdash=⊢ models=⊨ mid=∣ nmid=∤ parallel=∥ perp=⊥ therefore=∴ because=∵ colon=:
langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ lvert=| rvert=| vert=| lVert=‖ rVert=‖ Vert=‖ lbrace={ rbrace=} backslash=∖
`);

/** Large operators. In display formulas their limits are above and below, except for integrals. */
export const LARGE = parsePairs(
  'sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂ bigvee=⋁ bigwedge=⋀ int=∫ iint=∬ iiint=∭ oint=∮',
);

export const FUNCTIONS = new Set(
  'sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp det dim ker deg gcd hom arg Pr'.split(' '),
);
export const LIMITS = new Set('lim max min sup inf limsup liminf argmax argmin'.split(' '));

export const ACCENTS = parsePairs(
  'hat=^ widehat=^ bar=¯ overline=¯ vec=→ overrightarrow=→ dot=˙ ddot=¨ tilde=~ widetilde=~ check=ˇ breve=˘',
);

/** Widths in em. */
export const SPACES = new Map([
  [',', 0.17],
  [':', 0.22],
  [';', 0.28],
  ['!', -0.17],
  [' ', 0.25],
  ['quad', 1],
  ['qquad', 2],
  ['enspace', 0.5],
  ['thinspace', 0.17],
]);

/** The fences of tabular environments. */
export const TABLES = new Map([
  ['matrix', ['', '']],
  ['smallmatrix', ['', '']],
  ['pmatrix', ['(', ')']],
  ['bmatrix', ['[', ']']],
  ['Bmatrix', ['{', '}']],
  ['vmatrix', ['|', '|']],
  ['Vmatrix', ['‖', '‖']],
  ['cases', ['{', '']],
  ['array', ['', '']],
  ...['aligned', 'align', 'align*', 'split', 'gather', 'gather*', 'gathered', 'equation', 'equation*'].map((name) => [
    name,
    ['', ''],
  ]),
]);

/** The first code points of each typeface in Unicode. Some letters, in `ELSEWHERE`, are exceptions. */
const FACES = {
  mathbf: { upper: 0x1d400, lower: 0x1d41a, digit: 0x1d7ce },
  boldsymbol: { upper: 0x1d468, lower: 0x1d482, digit: 0x1d7ce },
  bm: { upper: 0x1d468, lower: 0x1d482, digit: 0x1d7ce },
  mathbb: { upper: 0x1d538, lower: 0x1d552, digit: 0x1d7d8 },
  mathcal: { upper: 0x1d49c, lower: 0x1d4b6 },
  mathscr: { upper: 0x1d49c, lower: 0x1d4b6 },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e },
  mathsf: { upper: 0x1d5a0, lower: 0x1d5ba, digit: 0x1d7e2 },
  mathtt: { upper: 0x1d670, lower: 0x1d68a, digit: 0x1d7f6 },
};
const ELSEWHERE = {
  mathbb: { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' },
  mathcal: { B: 'ℬ', E: 'ℰ', F: 'ℱ', H: 'ℋ', I: 'ℐ', L: 'ℒ', M: 'ℳ', R: 'ℛ', e: 'ℯ', g: 'ℊ', o: 'ℴ' },
  mathfrak: { C: 'ℭ', H: 'ℌ', I: 'ℑ', R: 'ℜ', Z: 'ℨ' },
};
ELSEWHERE.mathscr = ELSEWHERE.mathcal;

export const isFace = (name) => Object.hasOwn(FACES, name);

/** Changes a letter or digit to a mathematical typeface. */
export function inFace(letter, name) {
  const other = ELSEWHERE[name]?.[letter];
  if (other) return other;
  const { upper, lower, digit } = FACES[name];
  const from = (base, first) => String.fromCodePoint(base + letter.charCodeAt(0) - first.charCodeAt(0));
  if (/^[A-Z]$/.test(letter)) return from(upper, 'A');
  if (/^[a-z]$/.test(letter)) return from(lower, 'a');
  return digit && /^\d$/.test(letter) ? from(digit, '0') : letter;
}
