import { expect, test } from 'bun:test'
import type { LogLevels, Publication } from '../../store/proofs/publications.ts'
import { examineLog } from './examine-log.ts'

const levels: LogLevels = {
  sealAgeSeconds: 300,
  size: 9,
  publicationLateSeconds: 0,
  contradictions: 0,
  incarnations: 0,
}
const publication: Publication = {
  target: 'x',
  origin: 'a/books/b',
  size: 9,
  publishedAt: new Date(),
  failingSince: null,
  error: null,
  contradiction: null,
  ageMs: 1,
}

function examine(changes: {
  levels?: Partial<LogLevels>
  publication?: Partial<Publication>
  targetCount?: number
  otherOrigins?: string[]
}) {
  const { targetCount = 1, otherOrigins = [] } = changes
  const targets = [{ name: '/mnt/log/', publication: { ...publication, ...changes.publication } }]
  const log = { levels: { ...levels, ...changes.levels }, targets, origin: 'a/books/b', otherOrigins }
  return examineLog({ log, targetCount }).map(({ state, text }) => [state, text])
}

test('published and sealed is good', () => {
  expect(examine({})).toEqual([
    ['good', 'They are published to 1 place.'],
    ['good', 'The books were sealed 5 min ago.'],
  ])
})

test('checkpoints that stay in the house are a warning', () => {
  expect(examine({ targetCount: 0 })[0]).toMatchObject(['warn', expect.stringMatching(/^CHECKPOINTS is not set/)])
  expect(examineLog({ log: undefined, targetCount: 0 })).toMatchObject([{ state: 'warn' }])
})

test('a target that fails is a warning, and bad once it lacks the newest for long', () => {
  const failing = { error: 'The folder is not there.', failingSince: new Date() }
  expect(examine({ publication: failing })[0]).toEqual(['warn', '/mnt/log/: The folder is not there.'])
  expect(examine({ publication: failing, levels: { publicationLateSeconds: 7_201 } })[0]).toEqual([
    'bad',
    'A target has lacked the newest checkpoint for 120 min. /mnt/log/: The folder is not there.',
  ])
})

test('a contradiction is bad, whatever else is good', () => {
  const broken = { error: 'x', contradiction: 'It has another checkpoint of 9 leaves under the same name.' }
  expect(examine({ publication: broken })[0]).toEqual([
    'bad',
    'A published checkpoint contradicts the books. /mnt/log/: It has another checkpoint of 9 leaves under the same name.',
  ])
})

test('an old seal is a warning', () => {
  expect(examine({ levels: { sealAgeSeconds: 3_601 } })[1]).toEqual([
    'warn',
    'The books have not been sealed for 60 min.',
  ])
})

test('a log that is signed under two names is a warning', () => {
  expect(examine({ otherOrigins: ['c/books/b'] })[2]).toEqual([
    'warn',
    'In the last hour the log was signed as c/books/b too, and not only as a/books/b.',
  ])
})
