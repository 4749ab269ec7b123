/** Colours and the contrast between them, as WCAG 2 defines it. Pure. */

/** Red, green, blue, 0 to 255. */
export type Rgb = readonly [number, number, number]

export const white: Rgb = [255, 255, 255]
export const black: Rgb = [0, 0, 0]

/** Returns the first of fifty steps from one colour to another that `isEnough` accepts, else `to`, which must be acceptable. */
export function shiftUntil(from: Rgb, to: Rgb, isEnough: (color: Rgb) => boolean): Rgb {
  for (let step = 0; step < 50; step++) {
    const shade = mix(from, to, step / 50)
    if (isEnough(shade)) return shade
  }
  return to
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const blend = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share)
  return [blend(0), blend(1), blend(2)]
}

export function contrastOf(a: string, b: string): number {
  return contrast(parseHex(a), parseHex(b))
}

export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Relative luminance as WCAG defines it. */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

export function parseHex(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16)
  return [part(1), part(3), part(5)]
}

export function toHex(color: Rgb): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
