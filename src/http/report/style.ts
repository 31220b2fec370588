/** The style sheet of the HTML report, for light and dark screens and for print. */
export const REPORT_STYLE = `
:root { color-scheme: light dark; --text: #1d2125; --soft: #5b636b; --line: #dcdfe2; --paper: #fdfdfc; --accent: #17616b; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e5e6; --soft: #9aa3aa; --line: #343a3f; --paper: #16191b; --accent: #7cc4cc; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--text); font: 1.0625rem/1.65 Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", "Noto Serif", Cambria, Georgia, serif; overflow-wrap: break-word; }
article { max-width: 42rem; margin: 0 auto; padding: 4rem 1.5rem; }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; margin: 2em 0 .6em; }
li { margin: .35em 0; }
h1 { font-size: 1.9rem; margin-top: 0; } h2 { font-size: 1.35rem; } h3 { font-size: 1.12rem; }
.question { color: var(--soft); white-space: pre-wrap; border-left: 2px solid var(--line); padding-left: 1rem; margin-left: 0; }
.note { border: 1px solid var(--line); border-radius: 4px; padding: .5rem .8rem; font-size: .95rem; }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; }
.cite { font-size: .72em; line-height: 0; margin-left: .1em; } .cite a { text-decoration: none; }
blockquote { margin: 1.2em 0; padding-left: 1rem; border-left: 2px solid var(--line); color: var(--soft); }
pre, code { font-family: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, monospace; font-size: .88em; }
pre { overflow: auto; padding: .9rem 1rem; border: 1px solid var(--line); border-radius: 4px; line-height: 1.5; }
table { border-collapse: collapse; width: 100%; margin: 1.4em 0; font-size: .95em; }
th, td { text-align: left; vertical-align: top; padding: .45em .7em; border-bottom: 1px solid var(--line); }
math { max-width: 100%; overflow: clip; overflow-clip-margin: .3em; } math[display=block] { overflow: auto hidden; margin: 1em 0; }
figure { margin: 1.6em 0; } .chart { display: block; width: 100%; height: auto; }
hr { border: 0; border-top: 1px solid var(--line); margin: 2.5em 0; }
.sources { margin-top: 3.5rem; border-top: 1px solid var(--line); font-size: .95rem; }
.sources li { margin: .7em 0; } .sources .unnumbered { list-style: none; } .sources li:target { background: color-mix(in srgb, var(--accent) 14%, transparent); }
.address { color: var(--soft); font-size: .85em; word-break: break-all; }
footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; }
@media print { :root { --text: #000; --soft: #444; --line: #bbb; --paper: #fff; --accent: #000; } article { max-width: none; padding: 0; } h2, h3 { break-after: avoid; } li, tr, blockquote, figure { break-inside: avoid; } body { font-size: 10.5pt; } }
`;
