import { expect, test } from 'bun:test'
import { serverSettings, usableMemory } from './server-settings.ts'

const gibibyte = 1024 ** 3

test.each([
  ['a very small machine', 0.25 * gibibyte, '32MB'],
  ['a small machine', 1 * gibibyte, '128MB'],
  ['an ordinary machine', 4 * gibibyte, '512MB'],
  ['a large machine', 256 * gibibyte, '4096MB'],
])('%s gives PostgreSQL a share of its memory it can spare', (_, memory, sharedBuffers) => {
  expect(serverSettings(memory)).toContain(`\nshared_buffers = '${sharedBuffers}'\n`)
})

test('the memory to be had is a number of bytes', () => {
  expect(usableMemory()).toBeGreaterThan(64 * 1024 * 1024)
})
