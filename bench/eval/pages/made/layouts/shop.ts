import type { Layout } from '../layout.ts';
import { document, escapeHtml, jsonLd, links, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';
import { sentence } from '../write-article.ts';

const HIDING = ['hidden', 'aria-hidden="true"', 'style="display:none"', 'class="tab-pane fade"'];

const MARKUP: Markup = {
  ...PLAIN,
  section: ({ id }, inner) =>
    `<section class="section section--${id}"><div class="container">${inner}</div></section>\n`,
  heading: ({ level, title }) => `<h${level} class="section__title h${level}">${escapeHtml(title)}</h${level}>\n`,
  paragraph: (html) => `<div class="rte"><p>${html}</p></div>\n`,
  question: ({ question, answer }) =>
    answer.length % 2 === 0
      ? `<div class="faq__item"><details class="accordion"><summary class="accordion__title">${escapeHtml(question)}</summary><div class="accordion__body"><p>${escapeHtml(answer)}</p></div></details></div>\n`
      : `<div class="accordion-item"><h3 class="accordion-header"><button class="accordion-button collapsed" type="button" aria-expanded="false" aria-controls="c1">${escapeHtml(question)}</button></h3><div id="c1" class="accordion-collapse collapse" aria-hidden="true"><div class="accordion-body"><p>${escapeHtml(answer)}</p></div></div></div>\n`,
  panels({ panels }, write) {
    const tabs = panels.map(
      ({ label }, at) =>
        `<li class="nav-item" role="presentation"><button class="nav-link${at === 0 ? ' active' : ''}" role="tab" aria-controls="pane-${at}">${label}</button></li>`,
    );
    const shown = panels.map(({ blocks }, at) => {
      const hiding =
        at === 0
          ? 'class="tab-pane active show"'
          : HIDING[(blocks.length + at + JSON.stringify(blocks).length) % HIDING.length];
      return `<div id="pane-${at}" role="tabpanel" ${hiding}>${write(blocks)}</div>`;
    });
    return `<ul class="nav nav-tabs" role="tablist">${tabs.join('')}</ul><div class="tab-content">${shown.join('')}</div>\n`;
  },
};

/** What something costs, with plans in cards and what people ask below. */
export const SHOP: Layout = {
  name: 'shop-pricing',
  url: 'https://shop.example.com/products/thing',
  kinds: ['table', 'list', 'question', 'question', 'question', 'panels', 'figure'],
  publish({ title, sections, lead, language }, { clutter, random }) {
    const plans = ['Starter', 'Team', 'Enterprise'].map((name) => ({
      name: `${name} ${random.integer(2, 90)}`,
      price: `$${random.integer(3, 990)}.${random.integer(10, 99)} per seat and month`,
      features: [sentence(random, language), sentence(random, language)],
    }));
    const card = ({ name, price, features }: (typeof plans)[number]) =>
      `<div class="pricing-card"><h3 class="pricing-card__name">${name}</h3><p class="pricing-card__price">${price}</p><ul class="pricing-card__features">${features.map((text) => `<li><svg class="check"></svg>${escapeHtml(text)}</li>`).join('')}</ul><a class="btn" href="/buy">Choose ${name}</a></div>`;
    const body = `<div class="announcement-bar"><p>${clutter.promo}</p></div><header class="header"><nav class="header__menu"><ul>${links(clutter.menu.slice(0, 6))}</ul></nav><a href="/cart" class="cart-link">Cart (0)</a></header>
<main id="MainContent" role="main"><section class="hero"><h1>${escapeHtml(title)}</h1>${writeBlocks(lead, MARKUP)}</section><section class="plans"><div class="pricing-grid">${plans.map(card).join('')}</div></section>${writeSections(sections, MARKUP)}
<section class="product-recommendations"><h2>You may also like</h2><ul class="grid">${links(clutter.teasers, (html) => `<li class="card"><img src="/t.jpg" alt=""><h3 class="card__heading">${html}</h3><span class="price">$12.00</span></li>`)}</ul></section></main>
<footer class="footer"><div class="footer__newsletter"><h2>Subscribe to our emails</h2><p>${clutter.newsletter}</p><form class="newsletter-form"><input type="email"><button>→</button></form></div><ul>${links(clutter.menu.slice(6))}</ul><small>${clutter.footer}</small></footer><div class="cookie-popup" role="dialog" aria-modal="true"><p>${clutter.cookies}</p></div>`;
    const data = jsonLd({
      '@type': 'Product',
      name: title,
      offers: { '@type': 'AggregateOffer', priceCurrency: 'USD' },
    });
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} – Shop</title><meta property="og:type" content="product">${data}`,
        body,
      ),
      headings: plans.map(({ name }) => ({ level: 3, text: name })),
      paragraphs: plans.map(({ price }) => price),
      items: plans.flatMap(({ features }) => features),
    };
  },
};
