/**
 * The ledger's own tests on the oldest other PostgreSQL that this machine has, with `all` on every one: DATABASE_URL may name 15
 * to 18, and the embedded one is 18. Debian keeps its servers under /usr/lib/postgresql; where there is none, there is nothing to try.
 */
import { describe, expect, test } from 'bun:test'
import { majors, run, startOtherServer } from './other-server.ts'
import { wantsAll } from './wants-all.ts'

/** Every migration, every way to write, every answer of the API, every plan: SQL that a version does not know, or plans differently, fails here. */
const suites = [
  'src/store/writer/writer.test.ts',
  'src/store/migrations/migrate.test.ts',
  'src/store/migrations/schema.test.ts',
  'src/api/server.test.ts',
  'test/plans.test.ts',
]
const longSuites = ['src/store/writer/blast-radius.test.ts', 'test/property.test.ts']

const tried = wantsAll ? majors : majors.slice(0, 1)
const triedSuites = wantsAll ? [...suites, ...longSuites] : suites

describe.skipIf(majors.length === 0)('on a PostgreSQL that is not the embedded one', () => {
  // Several suites in one test: each of the inner tests has its limit, and all of them together take minutes on a busy machine.
  const withinMs = 600_000
  test.each(tried)(
    'PostgreSQL %s migrates, posts and answers',
    async (major) => {
      const server = await startOtherServer(major)
      try {
        const { code, output } = await run([process.execPath, 'test', '--timeout', '60000', ...triedSuites], {
          TEST_DATABASE_URL: server.url,
        })
        expect(code === 0 ? '' : output).toBe('')
      } finally {
        await server.remove()
      }
    },
    withinMs,
  )
})
