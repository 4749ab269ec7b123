import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { contrastOf } from './contrast.ts'
import { newClientId } from '../tokens.ts'
import { appColor } from './app-color.ts'

const style = readFileSync(new URL('../../web/style.css', import.meta.url), 'utf8')

/** The backgrounds of both themes in style.css. */
const grounds = ['surface', 'ground'].flatMap((name) => {
  const [, light, dark] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(style)!
  return [light!, dark!]
})

function expectLegible(color: string): void {
  expect(color).toMatch(/^#[0-9a-f]{6}$/)
  const text = contrastOf('#ffffff', color)
  const mark = Math.min(...grounds.map((ground) => contrastOf(color, ground)))
  if (text < 4.5 || mark < 3) throw new Error(`${color}: text ${text.toFixed(2)}:1, mark ${mark.toFixed(2)}:1`)
}

test('the colours of 5,000 apps have 3:1 against both themes, and white text on them has 4.5:1', () => {
  expect(grounds).toHaveLength(4)
  for (let n = 0; n < 5_000; n++) expectLegible(appColor({ clientId: newClientId(), accentColor: null }))
})

test('so have all accent colours of a grid over the whole colour space', () => {
  const steps = ['00', '11', '33', '66', '80', '99', 'cc', 'ff']
  for (const red of steps)
    for (const green of steps)
      for (const blue of steps) expectLegible(appColor({ clientId: 'x', accentColor: `#${red}${green}${blue}` }))
})

test('an accent colour within the bounds stays as it is', () => {
  expect(appColor({ clientId: 'x', accentColor: '#c2410c' })).toBe('#c2410c')
})

const colorOf = (n: number) => appColor({ clientId: `app_${n}`, accentColor: null })

test('the same clientId always has the same colour, and different ones seldom have', () => {
  expect(colorOf(1)).toBe(colorOf(1))
  const colors = new Set(Array.from({ length: 1_000 }, (_, n) => colorOf(n)))
  expect(colors.size).toBeGreaterThan(900)
})
