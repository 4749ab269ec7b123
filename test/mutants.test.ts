/** `npm run bench -- mutants` takes long and runs seldom: this keeps its list in step with the code. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { guards } from '../bench/mutants/guards.ts'

const root = new URL('..', import.meta.url).pathname

test('every mutation changes a text that is in its file once', () => {
  const stale = guards.flatMap(({ file, mutants }) => {
    const source = readFileSync(join(root, file), 'utf8')
    return mutants.filter(([find]) => source.split(find).length !== 2).map(([find]) => `${file}: ${find}`)
  })
  expect(stale).toEqual([])
})

test('the tests that must detect a mutation are there', () => {
  const tests = new Set(guards.flatMap((guarded) => guarded.tests))
  expect([...tests].filter((path) => !existsSync(join(root, path)))).toEqual([])
})
