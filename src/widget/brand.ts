/**
 * Derives legible colours from any accent colour of an app. In both themes, text on the accent and the accent as text have a
 * contrast of at least 4.5:1 (WCAG 2, 1.4.3), and the edge of a filled button has at least 3:1 against its background (1.4.11).
 * The fill itself keeps the chosen colour.
 */

import { black, contrast, mix, parseHex, shiftUntil, toHex, white, type Rgb } from '../actions/apps/contrast.ts'

export type Accent = {
  readonly fill: string
  readonly on: string
  /** The other end of the fill's gradient; text on it has a higher contrast than on the fill. */
  readonly deep: string
  /** The edge of a filled button: the fill if it has 3:1 against the background, else the nearest shade that does. */
  readonly edge: string
  readonly text: string
  /** A pale tint of the accent, the background of text in the accent colour. */
  readonly soft: string
  /** The fill of a large surface; dimmed in the dark theme, where a large bright surface would dazzle. */
  readonly hero: string
  readonly onHero: string
  readonly heroDeep: string
}

/** The two background colours of each theme in style.css; the accent is checked against both. */
const grounds = {
  light: { surface: '#ffffff', ground: '#f6f6f2' },
  dark: { surface: '#181c1a', ground: '#0f1211' },
} as const

export type Theme = keyof typeof grounds

export function accentFor(color: string, theme: Theme): Accent {
  const surface = parseHex(grounds[theme].surface)
  const given = parseHex(color)
  const away = theme === 'light' ? black : white
  const edge = shiftUntil(given, away, (shade) => contrast(shade, surface) >= 3)
  const soft = mix(surface, given, theme === 'light' ? 0.08 : 0.12)
  const under = [surface, parseHex(grounds[theme].ground), soft]
  const text = shiftUntil(given, away, (shade) => under.every((ground) => contrast(shade, ground) >= 4.5))
  const hero = theme === 'light' ? given : shiftUntil(given, surface, (shade) => contrast(shade, white) >= 7)
  return {
    fill: toHex(given),
    on: toHex(textOn(given)),
    deep: toHex(deeper(given)),
    edge: toHex(edge),
    text: toHex(text),
    soft: toHex(soft),
    hero: toHex(hero),
    onHero: toHex(textOn(hero)),
    heroDeep: toHex(deeper(hero)),
  }
}

/** A colour with less than 4.5 against white is light enough to give black at least 4.67. */
function textOn(fill: Rgb): Rgb {
  return contrast(fill, white) >= 4.5 ? white : black
}

/** A shade of the fill that is further from the colour of the text on it, which raises the contrast. */
function deeper(fill: Rgb): Rgb {
  return mix(fill, textOn(fill) === white ? black : white, 0.28)
}

/** The variables of style.css for a page's inline style. They contain only computed hex colours, never input. */
export function brandStyle(accentColor: string | null): string {
  if (accentColor === null || !/^#[0-9a-f]{6}$/i.test(accentColor)) return ''
  const [light, dark] = [accentFor(accentColor, 'light'), accentFor(accentColor, 'dark')]
  const variables = {
    accent: 'fill',
    'on-accent': 'on',
    'accent-deep': 'deep',
    'accent-edge': 'edge',
    'accent-text': 'text',
    'accent-soft': 'soft',
    hero: 'hero',
    'on-hero': 'onHero',
    'hero-deep': 'heroDeep',
  } as const satisfies Record<string, keyof Accent>
  const lines = Object.entries(variables).map(([name, key]) => `--${name}:light-dark(${light[key]},${dark[key]})`)
  return `:root{${lines.join(';')}}`
}
