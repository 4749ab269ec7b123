/** The colour of an app in lists and charts: its accent colour, or one derived from its clientId, so that it never changes. Pure. */
import { hash } from 'node:crypto'
import { black, luminance, parseHex, shiftUntil, toHex, white, type Rgb } from './contrast.ts'
import type { App } from '../../store/apps.ts'

/**
 * One colour serves both themes: within these bounds white text on it has at least 4.5:1, and it has at least 3:1 against the
 * backgrounds of both.
 */
const darkest = 0.14
const brightest = 0.18

export function appColor({ clientId, accentColor }: Pick<App, 'clientId' | 'accentColor'>): string {
  const given = accentColor === null ? colorOfId(clientId) : parseHex(accentColor)
  if (luminance(given) > brightest) return toHex(shiftUntil(given, black, (shade) => luminance(shade) <= brightest))
  return toHex(shiftUntil(given, white, (shade) => luminance(shade) >= darkest))
}

/** Hues that look different from each other; evenly spaced ones would be green every third time. */
const hues = [2, 20, 36, 95, 150, 176, 194, 209, 226, 246, 264, 284, 305, 326, 345]

function colorOfId(clientId: string): Rgb {
  const bytes = hash('sha256', clientId, 'buffer')
  const hue = hues[bytes.readUInt16BE(0) % hues.length]! + (bytes[2]! / 255) * 8 - 4
  return fromHue((hue + 360) % 360, 0.55 + (bytes[3]! / 255) * 0.3)
}

/** A colour of medium lightness. */
function fromHue(hue: number, saturation: number): Rgb {
  const part = (offset: number) => {
    const at = (offset + hue / 30) % 12
    return Math.round(255 * (0.5 - (saturation / 2) * Math.max(-1, Math.min(at - 3, 9 - at, 1))))
  }
  return [part(0), part(8), part(4)]
}
