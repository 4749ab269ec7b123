/**
 * A User-Agent in two words, `Firefox/Linux`: what a person calls the browser and what it runs on. Nothing else of the header is
 * kept, which tells browsers apart far better than people.
 */

/** The first that fits counts: most browsers also name those they descend from. */
const browsers: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\b(OPR|Opera|OPiOS)\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ .*Safari\//],
]

const systems: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
]

/** Null when neither is known. */
export function browserName(userAgent: string | null): string | null {
  // Longer than any browser's, and what is searched stays short.
  const text = (userAgent ?? '').slice(0, 400)
  const find = (list: typeof browsers) => list.find(([, pattern]) => pattern.test(text))?.[0] ?? ''
  const found = `${find(browsers)}/${find(systems)}`
  return found === '/' ? null : found
}
