import type { Layout } from '../layout.ts';
import { document, escapeHtml, longDate, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

const cells = (row: readonly string[], tag: string, rest: string) =>
  `<tr class="ltx_tr">${row.map((cell) => `<${tag} class="ltx_td ltx_align_left ${rest}">${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;

const MARKUP: Markup = {
  ...PLAIN,
  section: ({ level, id }, inner) =>
    `<section id="${id}" class="ltx_${level === 2 ? 'section' : 'subsection'}">${inner}</section>\n`,
  heading({ level, id, title }) {
    const kind = level === 2 ? 'section' : 'subsection';
    const number = (id.length % 7) + 1;
    return `<h${level} class="ltx_title ltx_title_${kind}"><span class="ltx_tag ltx_tag_${kind}">${level === 2 ? number : `${number}.1`} </span>${escapeHtml(title)}</h${level}>`;
  },
  paragraph: (html) => `<div id="S1.p1" class="ltx_para"><p id="S1.p1.1" class="ltx_p">${html}</p></div>\n`,
  code: ({ language, lines }) =>
    `<div class="ltx_listing ltx_lst_language_${language} ltx_lstlisting ltx_listing"><div class="ltx_listing_data"><a href="data:text/plain;base64,cHJpbnQ=" download="">⬇</a></div>${lines.map((line) => `<div class="ltx_listingline">${listed(line)}\n</div>`).join('')}</div>`,
  table: ({ head, rows }) =>
    `<figure class="ltx_table" id="T1"><table class="ltx_tabular ltx_centering ltx_guessed_headers ltx_align_middle"><thead class="ltx_thead">${cells(head, 'th', 'ltx_th ltx_th_column ltx_border_tt')}</thead><tbody class="ltx_tbody">${rows.map((row) => cells(row, 'td', 'ltx_border_t')).join('')}</tbody></table></figure>`,
  list({ ordered, items }) {
    const tag = ordered ? 'ol' : 'ul';
    const shown = items.map(
      (item, at) =>
        `<li class="ltx_item" style="list-style-type:none;"><span class="ltx_tag ltx_tag_item">${ordered ? `${at + 1}.` : '•'}</span><div class="ltx_para"><p class="ltx_p">${escapeHtml(item)}</p></div></li>`,
    );
    return `<${tag} class="ltx_${ordered ? 'enumerate' : 'itemize'}">${shown.join('\n')}</${tag}>`;
  },
  figure: ({ alt, caption }) =>
    `<figure class="ltx_figure" id="F1"><img src="x1.png" id="F1.g1" class="ltx_graphics ltx_centering ltx_img_landscape" width="598" height="220" alt="Refer to caption" title="${alt}"><figcaption class="ltx_caption ltx_centering"><span class="ltx_tag ltx_tag_figure">Figure 1: </span>${escapeHtml(caption)}</figcaption></figure>`,
  note: ({ text }) =>
    `<div class="ltx_theorem ltx_theorem_remark" id="Thm1"><h6 class="ltx_title ltx_runin ltx_title_theorem"><span class="ltx_tag ltx_tag_theorem">Remark 1</span>.</h6><div class="ltx_para"><p class="ltx_p">${escapeHtml(text)}</p></div></div>`,
};

/** A paper as LaTeXML makes HTML of it, with what arXiv puts around it. */
export const LATEXML: Layout = {
  name: 'latexml',
  url: 'https://arxiv.org/html/2403.01234v2',
  kinds: ['code', 'table', 'table', 'list', 'figure', 'figure', 'note'],
  publish({ title, sections, lead, published, author, language }, { clutter }) {
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li class="ltx_tocentry ltx_tocentry_section"><a class="ltx_ref" href="#${id}" title="In paper"><span class="ltx_text ltx_ref_title"><span class="ltx_tag ltx_tag_ref">1 </span>${escapeHtml(text)}</span></a></li>`,
    );
    const references = [
      'Castor, J.: On the drift of lagoons. Journal of Tides 12, 2011.',
      'Pollux, M.: Copper and its letters. Proceedings of Ores, 2017.',
    ];
    const body = `<header class="mob_header"><a class="html-header-logo" href="https://arxiv.org/"></a><div class="html-header-nav"><a class="ar5iv-footer-button" href="#">${clutter.menu[0]}</a><a href="https://arxiv.org/abs/2403.01234v2">Back to Abstract</a><a href="https://arxiv.org/pdf/2403.01234v2">Download PDF</a></div></header>
<nav class="ltx_page_navbar"><nav class="ltx_TOC"><ol class="ltx_toclist">${toc.join('')}</ol></nav></nav><div class="ltx_page_main"><div class="package-alerts ltx_document" role="status"><p>${clutter.cookies}</p></div>
<div class="ltx_page_content"><article class="ltx_document ltx_authors_1line"><h1 class="ltx_title ltx_title_document">${escapeHtml(title)}</h1><div class="ltx_authors"><span class="ltx_creator ltx_role_author"><span class="ltx_personname">${author}</span><span class="ltx_author_notes"><span class="ltx_contact ltx_role_affiliation">Institute of Tides</span></span></span></div><div class="ltx_dates">(${longDate(published)})</div>
<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6>${writeBlocks(lead, { ...MARKUP, paragraph: (html) => `<p class="ltx_p">${html}</p>` })}</div>
${writeSections(sections, MARKUP)}<section id="bib" class="ltx_bibliography"><h2 class="ltx_title ltx_title_bibliography">References</h2><ul class="ltx_biblist">${references.map((text, at) => `<li id="bib.bib${at + 1}" class="ltx_bibitem"><span class="ltx_tag ltx_role_refnum ltx_tag_bibitem">[${at + 1}]</span><span class="ltx_bibblock">${text}</span></li>`).join('')}</ul></section></article></div>
<footer class="ltx_page_footer"><div class="ltx_page_logo">Generated on Mon Mar 4 by <a href="http://dlmf.nist.gov/LaTeXML/" class="ltx_LaTeXML_logo">LaTeXML</a></div></footer></div><button id="openForm" class="btn btn-sm btn-primary">Report Issue</button><dialog id="myForm" class="modal"><form><p>${clutter.newsletter}</p><textarea></textarea></form></dialog><footer id="footer" class="ltx_document"><p>${clutter.footer}</p></footer>`;
    return {
      html: document(language, `<title>${escapeHtml(title)}</title>`, body),
      dates: [published],
      authors: [author],
      paragraphs: references,
    };
  },
};

/** Spaces stand in elements of their own. */
function listed(line: string): string {
  return line
    .split(/( +)/)
    .filter((part) => part !== '')
    .map((part) =>
      part.trim() === ''
        ? `<span class="ltx_text ltx_lst_space">${'\u00a0'.repeat(part.length)}</span>`
        : `<span class="ltx_text ltx_lst_identifier ltx_font_typewriter">${escapeHtml(part)}</span>`,
    )
    .join('');
}
