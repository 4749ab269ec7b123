/** No text from outside may hold the one thread that moves everybody's money. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFile } from 'node:fs/promises'
import { redactorOf } from '../sdk/server/redact.ts'
import { findExpressions, nastyTexts } from './regular-expressions.ts'

const root = new URL('..', import.meta.url).pathname

const paths = (await Array.fromAsync(new Glob('{src,sdk}/**/*.{ts,tsx}').scan(root))).filter(
  (path) => !/\.test\.|node_modules|dist\/|sdk\/build\.ts/.test(path),
)
const files = await Promise.all(paths.map(async (path) => ({ path, code: await readFile(root + path, 'utf8') })))

/** At 64 KiB one that goes over the text again for each character takes seconds, and one that does not under a millisecond. */
const limitMs = 250
const length = 64 * 1024

function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * The text on which an expression is slow, shortened. Of all texts the worst of 1 KiB are made long; and twice, because
 * collecting garbage takes processor time too.
 */
function findSlow(expression: RegExp, length = 64 * 1024): string | undefined {
  const ranked = [...nastyTexts(expression)].map((make) => {
    const text = make(1024)
    return { make, ms: processorMs(() => text.replace(expression, '')) }
  })
  const worst = ranked.sort((a, b) => b.ms - a.ms).slice(0, 8)
  for (const { make } of worst) {
    const text = make(length)
    const isSlow = () => processorMs(() => text.replace(expression, '')) > limitMs
    if (isSlow() && isSlow()) return JSON.stringify(`${text.slice(0, 30)}…${text.slice(-5)}`)
  }
  return undefined
}

test('no regular expression of src and sdk takes long over 64 KiB made from itself', () => {
  const expressions = new Map(
    files.flatMap(({ path, code }) => findExpressions(code).map((each) => [String(each), { each, path }])),
  )
  expect(expressions.size).toBeGreaterThan(90)
  const slow = [...expressions.values()].flatMap(({ each, path }) => {
    const text = findSlow(each)
    return text === undefined ? [] : [`${path}: ${String(each)} on ${text}`]
  })
  expect(slow).toEqual([])
}, 180_000)

test('the texts are nasty: expressions known to be slow are found to be', () => {
  const known = [/[\s,]+$/, /[eE].*$/]
  expect(known.filter((expression) => findSlow(expression, 32 * 1024) === undefined)).toEqual([])
}, 180_000)

test('expressions are made at run time only where secrets are taken out of texts, and there in one pass', () => {
  const makers = files.filter(({ code }) => /\bRegExp\(/.test(code)).map(({ path }) => path)
  expect(makers).toEqual(['sdk/server/redact.ts'])
  const redact = redactorOf(['%%%%a a%25', 'cs_live_0000000000000000'])
  const texts = ['%', '%25', '%2525', '\\', '\\u0025', 'cs_live_', 'cs_live_000000000000000', '%%%%a a', '%25%25%25%25']
  const slow = texts.filter((text) => processorMs(() => redact(`${text.repeat(length / text.length)}!`)) > limitMs)
  expect(slow).toEqual([])
})
