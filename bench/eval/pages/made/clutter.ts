import type { Random } from '../../random.ts';

const BRANDS = ['Verdigo', 'Plumbex', 'Nordwind', 'Tallowby', 'Quandary', 'Zephyrine', 'Mossgate', 'Harlequa'];
const AREAS = [
  'pricing',
  'customers',
  'careers',
  'academy',
  'status',
  'partners',
  'events',
  'download',
  'cloud',
  'labs',
];
const TEASERS = ['ways to save on', 'reasons to love', 'facts about', 'pictures of', 'people who left', 'recipes from'];

/** What stands around an article. Each piece names a firm that no article does, so that a piece left is known as such. */
export interface Clutter {
  /** Short labels, for menus. */
  menu: string[];
  /** Titles of other pages. */
  teasers: string[];
  newsletter: string;
  cookies: string;
  footer: string;
  promo: string;
  site: string;
}

export function makeClutter(random: Random): Clutter {
  const brand = random.pick(BRANDS);
  const number = random.integer(3, 400);
  return {
    site: brand,
    menu: random.sample(AREAS, 8).map((area) => `${brand} ${area}`),
    teasers: random.sample(TEASERS, 5).map((what, at) => `${number + at} ${what} ${random.pick(BRANDS)} today`),
    newsletter: `Get the ${brand} digest in your inbox every ${random.pick(['Monday', 'morning', 'month'])}. No spam, ever.`,
    cookies: `${brand} and its ${number} partners use cookies to improve your experience. You can change this at any time.`,
    footer: `© 2025 ${brand} Holding. All rights reserved.`,
    promo: `Try ${brand} free for ${random.integer(7, 60)} days`,
  };
}

/** The pieces of which none may be left. */
export function piecesOf({ menu, teasers, newsletter, cookies, footer, promo }: Clutter): string[] {
  return [...menu, ...teasers, newsletter, cookies, footer, promo];
}
