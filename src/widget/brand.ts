/**
 * An app's accent colour, made legible. Whatever was chosen, text on the accent, and the accent as text, has a contrast of
 * at least 4.5:1 (WCAG 2, 1.4.3), and a filled button at least 3:1 against what it stands on (1.4.11), in both themes.
 */

/** Red, green, blue, 0 to 255. */
type Rgb = readonly [number, number, number]

export type Accent = {
  readonly fill: string
  readonly on: string
  /** The deeper end of a gradient of the fill; the text on it is even clearer there. */
  readonly deep: string
  readonly text: string
  /** A faint wash to put the accent's text on. */
  readonly soft: string
}

/** The grounds of style.css; the accent has to be seen on both of each theme. */
const grounds = {
  light: { surface: '#ffffff', ground: '#f6f6f2' },
  dark: { surface: '#181c1a', ground: '#0f1211' },
} as const

export type Theme = keyof typeof grounds

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]

export function accentFor(color: string, theme: Theme): Accent {
  const { surface, ground } = grounds[theme]
  const given = parseHex(color)
  const away = theme === 'light' ? black : white
  const fill = shiftUntil(given, away, (shade) => contrast(shade, parseHex(surface)) >= 3)
  // Below 4.5 against white a colour is light enough to give black at least 4.67.
  const on = contrast(fill, white) >= 4.5 ? white : black
  const deep = mix(fill, on === white ? black : white, 0.28)
  const soft = mix(parseHex(surface), given, theme === 'light' ? 0.08 : 0.12)
  const isClear = (shade: Rgb) => [parseHex(surface), parseHex(ground), soft].every((g) => contrast(shade, g) >= 4.5)
  const text = shiftUntil(given, away, isClear)
  return { fill: toHex(fill), on: toHex(on), deep: toHex(deep), text: toHex(text), soft: toHex(soft) }
}

/** The variables of style.css, for a page's inline style. Only computed hex colours get in. */
export function brandStyle(accentColor: string | null): string {
  if (accentColor === null || !/^#[0-9a-f]{6}$/i.test(accentColor)) return ''
  const [light, dark] = [accentFor(accentColor, 'light'), accentFor(accentColor, 'dark')]
  const both = (key: keyof Accent) => `light-dark(${light[key]},${dark[key]})`
  return `:root{--accent:${both('fill')};--on-accent:${both('on')};--accent-deep:${both('deep')};--accent-text:${both('text')};--accent-soft:${both('soft')}}`
}

/** Moves a colour towards another in small steps until it will do; the far end always does. */
function shiftUntil(from: Rgb, to: Rgb, isEnough: (color: Rgb) => boolean): Rgb {
  for (let step = 0; step < 50; step++) {
    const shade = mix(from, to, step / 50)
    if (isEnough(shade)) return shade
  }
  return to
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const blend = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share)
  return [blend(0), blend(1), blend(2)]
}

export function contrastOf(a: string, b: string): number {
  return contrast(parseHex(a), parseHex(b))
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Relative luminance as WCAG defines it. */
function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function parseHex(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16)
  return [part(1), part(3), part(5)]
}

function toHex(color: Rgb): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
