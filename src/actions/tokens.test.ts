import { expect, test } from 'bun:test'
import { isUuid, newId } from './tokens.ts'

test('ids are in the order in which they were made, also those of one millisecond', () => {
  const moments = [1_767_225_600_000, 1_767_225_600_001]
  const ids = moments.flatMap((ms) => Array.from({ length: 4_000 }, () => newId(new Date(ms))))
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(8_000)
  for (const id of ids) expect([isUuid(id), id[14]]).toEqual([true, '7'])
})
