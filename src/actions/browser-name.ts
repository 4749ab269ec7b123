/**
 * Reduces a User-Agent to the names of browser and system, such as `Firefox/Linux`. The rest of the header is not stored: it
 * identifies a browser far better than people expect.
 */

/** The first match wins: most browsers also name their ancestors. */
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

/** Null when both are unknown. */
export function browserName(userAgent: string | null): string | null {
  // Longer than the header of any browser, and short enough to search.
  const text = (userAgent ?? '').slice(0, 400)
  const find = (list: typeof browsers) => list.find(([, pattern]) => pattern.test(text))?.[0] ?? ''
  const found = `${find(browsers)}/${find(systems)}`
  return found === '/' ? null : found
}
