import { expect, test } from 'bun:test'
import { drawComparison } from './comparison.ts'
import { figureTable, toFigure } from './figures.ts'
import { takeMirrored, takeTurns, type Contender } from './rounds.ts'

function scripted(name: string, rates: readonly number[]): Contender {
  const left = [...rates]
  return {
    name,
    measure: async () => ({ name, perSecond: left.shift()!, serverCores: 1, databaseCores: 1, otherCores: 0 }),
  }
}

test('each round is compared with the base rounds beside it', async () => {
  const base = scripted('base', [100, 200, 400])
  const { comparisons, basePerSecond } = await takeTurns(base, [scripted('x', [300, 150])], 2, () => {})
  expect(comparisons[0]!.overBase).toEqual([2, 0.5])
  expect(basePerSecond).toBe(200)
})

test('a cycle of mirrored rounds has two of each name around the same instant', async () => {
  const order: string[] = []
  const recorded = ({ name, measure }: Contender): Contender => ({
    name,
    measure: () => {
      order.push(name)
      return measure()
    },
  })
  const [off, on] = [scripted('off', [100, 300, 10, 10]), scripted('on', [150, 250, 4, 6])]
  const { rounds, perSecond } = await takeMirrored([recorded(off), recorded(on)], 2)
  expect(order.join(' ')).toBe('off on on off off on on off')
  expect(rounds.map(({ name }) => name)).toEqual(order)
  expect(perSecond.get('off')).toEqual([200, 10])
  expect(perSecond.get('on')).toEqual([200, 5])
})

test('a figure is met at its goal and missed beyond it', () => {
  expect(toFigure('debits ÷ TPC-B', [4.9, 5, 9])).toMatchObject({ value: 5, isMet: true, lowest: 4.9, highest: 9 })
  expect(toFigure('debits ÷ TPC-B', [4.9]).isMet).toBe(false)
  expect(toFigure('p99 ÷ p50 at 128 connections', [2.01]).isMet).toBe(false)
  expect(figureTable([toFigure('memory after the load', [151])])).toContain('151 MB  151 … 151      130 MB  missed')
})

test('the chart has a bar for each measured figure, and no others', () => {
  const machine = { processor: '2 × <any>', memory: '1 GB', system: '', runtime: '', postgres: '', pgbench: '' }
  const svg = drawComparison({
    basePerSecond: 8000,
    comparisons: [{ name: 'hot', perSecond: 7000, overBase: [] }],
    machine,
  })
  expect(svg.match(/<rect/g)).toHaveLength(2)
  expect(svg).toContain('8,000')
  expect(svg).toContain('2 × &lt;any&gt;')
})
