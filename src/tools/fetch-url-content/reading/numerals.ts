const ROMAN = { m: 1000, cm: 900, d: 500, cd: 400, c: 100, xc: 90, l: 50, xl: 40, x: 10, ix: 9, v: 5, iv: 4, i: 1 };

/** Writes a number in a form as Word names it, such as `lowerRoman`; in digits if it cannot be written so. */
export function formatNumeral(number: number, format: string): string {
  if (/roman$/i.test(format) && number > 0 && number < 4000) {
    let remaining = number;
    const roman = Object.entries(ROMAN)
      .map(([letters, value]) => {
        const times = Math.floor(remaining / value);
        remaining -= times * value;
        return letters.repeat(times);
      })
      .join('');
    return format.startsWith('upper') ? roman.toUpperCase() : roman;
  }
  if (/letter$/i.test(format) && number > 0 && number < 500) {
    // After z comes aa, then bb.
    const letter = String.fromCharCode(97 + ((number - 1) % 26)).repeat(Math.ceil(number / 26));
    return format.startsWith('upper') ? letter.toUpperCase() : letter;
  }
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number);
}
