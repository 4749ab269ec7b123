import { expect, test } from 'bun:test'
import { openTestService } from '../../../test/service.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { closeService, openService } from '../service.ts'
import { hashPassword, isPassword } from './passwords.ts'

test('a service that is told nothing else hashes passwords with argon2id, 19 MiB of memory and two passes', async () => {
  const opened = await openTestService()
  const { config, db, log, now } = opened.service
  const usual = openService({ config, db, log, metrics: openMetrics(), now })
  const hash = await hashPassword(usual, 'seven tired llamas')
  expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  expect(await isPassword(usual, 'seven tired llamas', hash)).toBe(true)
  expect(await isPassword(usual, 'seven tired lamas', hash)).toBe(false)
  for (const nothing of [null, undefined]) expect(await isPassword(usual, 'seven tired llamas', nothing)).toBe(false)
  await closeService(usual)
  await opened.close()
})
