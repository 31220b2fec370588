import { percentDecode } from '../../../../base/text.ts';

/** Addresses of services that draw formulas; the group is the source of the formula. */
const SERVICES = [
  /^[^?]*codecogs\.com\/[^?]*\?(?:latex=)?(.+)$/i,
  /^[^?]*\/latex\.php\?(?:.*&)?latex=([^&]+)/i,
  /^[^?]*\/equation\?(?:.*&)?tex=([^&]+)/i,
  /^[^?]*chart\.(?:googleapis|apis\.google)\.com\/chart\?(?=.*cht=tx)(?:.*&)?chl=([^&]+)/i,
  /^[^?]*render\.githubusercontent\.com\/render\/math\?(?:.*&)?math=([^&]+)/i,
  /^[^?]*\/(?:mathtex|mimetex)\.cgi\?(.+)$/i,
  /^[^?]*math\.vercel\.app\/?\?(?:.*&)?(?:from|inline|display)=([^&]+)/i,
  /^https?:\/\/(?:i|tex)\.(?:upmath\.me|s2cms\.ru)\/(?:svg|png)\/(.+)$/i,
];

/** The longest address that is inspected, in characters. */
const MAX_ADDRESS = 6000;

/** The TeX in the address of an image that a service drew; else empty. */
export function texOfAddress(address: string): string {
  if (address.length > MAX_ADDRESS || !/[?]|upmath|s2cms/.test(address)) return '';
  for (const service of SERVICES) {
    const source = service.exec(address)?.[1];
    if (source !== undefined) {
      return clean(percentDecode(source.replaceAll('+', '%20').replaceAll('&space;', ' ')) ?? source);
    }
  }
  return '';
}

/** Removes commands for size and background. */
function clean(source: string): string {
  return source
    .replace(
      /\\(?:dpi|bg|fg)\s?\{[^{}]{0,40}\}|\\(?:inline|large|Large|LARGE|huge|small|tiny|fn_\w{1,4})(?![a-zA-Z])/g,
      '',
    )
    .replace(/&(?:bg|fg|s|c)=[^&]{0,20}/g, '')
    .trim();
}
