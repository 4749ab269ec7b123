import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { assert, constantFrom, integer, property } from 'fast-check'
import { contrastOf } from '../actions/apps/contrast.ts'
import { accentFor, brandStyle } from './brand.ts'

const style = readFileSync(new URL('../web/style.css', import.meta.url), 'utf8')

/** The value of a variable of style.css in a theme. */
function variable(name: string, theme: 'light' | 'dark'): string {
  const match = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(style)
  return match![theme === 'light' ? 1 : 2]!
}

function expectLegible(color: string, theme: 'light' | 'dark'): void {
  const accent = accentFor(color, theme)
  const surface = variable('surface', theme)
  const pairs = {
    'text on the accent': [accent.on, accent.fill],
    'text on its deeper end': [accent.on, accent.deep],
    'text on the hero': [accent.onHero, accent.hero],
    'text on the hero’s deeper end': [accent.onHero, accent.heroDeep],
    'accent text on a surface': [accent.text, surface],
    'accent text on the ground': [accent.text, variable('ground', theme)],
    'accent text on its wash': [accent.text, accent.soft],
  } as const
  for (const [what, [a, b]] of Object.entries(pairs)) {
    const ratio = contrastOf(a, b)
    if (ratio < 4.5) throw new Error(`${what} of ${color} in ${theme} has ${ratio.toFixed(2)}:1`)
  }
  expect(contrastOf(accent.edge, surface)).toBeGreaterThanOrEqual(3)
}

test('contrast is what WCAG says it is', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21, 5)
  expect(contrastOf('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
})

const extremes =
  '#000000 #ffffff #ffff00 #00ff00 #0000ff #ff0000 #00ffff #ff00ff #808080 #767676 #777777 #f6f6f2 #181c1a'.split(' ')

test.each(extremes)('the colour %s is legible as an accent in both themes', (color) => {
  expectLegible(color, 'light')
  expectLegible(color, 'dark')
})

test('any colour is legible as an accent', () => {
  const hex = integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, '0')}`)
  const theme = constantFrom('light' as const, 'dark' as const)
  assert(property(hex, theme, expectLegible), { numRuns: 2000 })
})

test('a colour that is clear already stays as it is', () => {
  expect(accentFor('#0e5a47', 'light')).toMatchObject({ fill: '#0e5a47', text: '#0e5a47', edge: '#0e5a47' })
})

test('only a colour gets into the style', () => {
  expect(brandStyle('#0e5a47')).toMatch(/^:root\{(--[a-z-]+:light-dark\(#[0-9a-f]{6},#[0-9a-f]{6}\);?)+\}$/)
  expect(brandStyle('red;}</style>')).toBe('')
  expect(brandStyle(null)).toBe('')
})

const meanings = ['good', 'warn', 'bad', 'info', 'accent-text:accent-soft', 'muted:sunken', 'ink:hover', 'ink:sunken']
for (const theme of ['light', 'dark'] as const) {
  test.each(meanings)(`the ${theme} theme's own %s is legible`, (pair) => {
    const [text, own = `${text}-soft`] = pair.split(':') as [string, string?]
    for (const ground of [own, 'surface', 'ground'])
      expect(contrastOf(variable(text, theme), variable(ground, theme))).toBeGreaterThanOrEqual(4.5)
  })

  test(`the ${theme} theme's fills carry their text, and its controls have an edge`, () => {
    expect(contrastOf(variable('accent', theme), variable('on-accent', theme))).toBeGreaterThanOrEqual(4.5)
    expect(contrastOf(variable('accent-deep', theme), variable('on-accent', theme))).toBeGreaterThanOrEqual(4.5)
    expect(contrastOf(variable('hero', theme), variable('on-hero', theme))).toBeGreaterThanOrEqual(4.5)
    expect(contrastOf(variable('hero-deep', theme), variable('on-hero', theme))).toBeGreaterThanOrEqual(4.5)
    expect(contrastOf(variable('accent-edge', theme), variable('surface', theme))).toBeGreaterThanOrEqual(3)
    expect(contrastOf(variable('bad-fill', theme), variable('on-bad', theme))).toBeGreaterThanOrEqual(4.5)
    expect(contrastOf(variable('line-strong', theme), variable('surface', theme))).toBeGreaterThanOrEqual(3)
  })
}
