import { expect, test } from 'bun:test'
import { chooseServer, raiseTimelines, type Choice, type ServerState } from './choose-server.ts'

const primary = (timeline: number, server = 'a', systemId = 'one'): ServerState => ({
  kind: 'primary',
  systemId,
  timeline,
  startedAt: server,
})
const standby = (timeline: number): ServerState => ({ kind: 'standby', systemId: 'one', timeline })
const away: ServerState = { kind: 'unknown', why: 'no answer' }
const unnumbered: ServerState = { kind: 'unnumbered' }

type Case = readonly [fact: string, states: readonly ServerState[], seen: number, Pick<Choice, 'index' | 'problem'>]

const cases: readonly Case[] = [
  ['the one that takes writes is used', [standby(1), primary(1)], 1, { index: 1, problem: undefined }],
  ['none is used when none takes writes', [standby(1), away], 1, { index: undefined, problem: undefined }],
  ['of two the newer is used', [primary(1, 'a'), primary(2, 'b')], 2, { index: 1, problem: 'two primaries' }],
  [
    'of three the newest is used',
    [primary(9, 'a'), primary(10, 'b'), primary(2, 'c')],
    10,
    { index: 1, problem: 'two primaries' },
  ],
  ['two addresses of one server are one', [primary(1, 'a'), primary(1, 'a')], 1, { index: 0, problem: undefined }],
  [
    'of two on one timeline neither is used',
    [primary(2, 'a'), primary(2, 'b')],
    2,
    { index: undefined, problem: 'two primaries' },
  ],
  [
    'of two systems neither is used',
    [primary(1, 'a'), primary(5, 'b', 'two')],
    1,
    { index: undefined, problem: 'two primaries' },
  ],
  ['an old primary alone is not used', [primary(1, 'a'), away], 2, { index: undefined, problem: 'old primary' }],
  [
    'a primary older than a standby is not used',
    [primary(1, 'a'), standby(2)],
    0,
    { index: undefined, problem: 'old primary' },
  ],
  ['a primary newer than its standby is used', [standby(1), primary(2, 'b')], 0, { index: 1, problem: undefined }],
  ['a server without a timeline is used alone', [away, unnumbered], 0, { index: 1, problem: undefined }],
  [
    'a server without a timeline is not used beside a primary',
    [unnumbered, primary(1)],
    1,
    { index: 1, problem: undefined },
  ],
]

test.each(cases)('%s', (_, states, seen, expected) => {
  const { index, problem, reasons } = chooseServer(states, raiseTimelines(new Map([['one', seen]]), states))
  expect({ index, problem }).toEqual(expected)
  expect(reasons).toHaveLength(states.length)
})

test('a lower timeline never replaces a higher one that was seen', () => {
  expect(raiseTimelines(new Map([['one', 7]]), [primary(3), standby(6)])).toEqual(new Map([['one', 7]]))
  expect(raiseTimelines(new Map([['one', 7]]), [primary(8)])).toEqual(new Map([['one', 8]]))
})
