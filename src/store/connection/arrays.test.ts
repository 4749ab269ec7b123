import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { createRequire } from 'node:module'
import { testDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { bigintArray, bytesArray, hexUuidArray, plainArray, queryArrays, textArray, zip } from './arrays.ts'
import { openDatabase, type Database } from './database.ts'

/** The driver's own serialiser, which its types do not know. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as { prepareValue: (value: unknown) => string }

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.connection)
})
afterAll(async () => {
  await db.pool.end()
  await database.drop()
})

/** What the database makes of a literal, as texts. */
async function parsed(literal: string | Buffer, type: string): Promise<(string | null)[]> {
  const { rows } = await db.pool.query<{ values: (string | null)[] }>(`select $1::${type}[]::text[] as values`, [
    literal,
  ])
  return rows[0]!.values
}

const awkward = fc.constantFrom('"', '\\', '{', '}', ',', ' ', 'NULL', 'null', '', "'", '\n', '\\"', '{}', '""')
/** PostgreSQL holds every text but the character zero. */
const anyText = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))
const texts = fc.array(
  fc.option(
    fc.oneof(
      awkward,
      anyText,
      fc.tuple(anyText, awkward).map((two) => two.join('')),
    ),
  ),
)

test('an array of any texts is the literal that the driver writes, and the database reads it back', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (values) => {
      const literal = textArray(values, (value) => value)
      expect(literal).toBe(prepareValue(values))
      expect(await parsed(literal, 'text')).toEqual(values)
    }),
  )
})

test.each([
  ['bigint', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ['integer', fc.integer()],
  ['uuid', fc.uuid()],
  ['boolean', fc.boolean()],
  ['text', fc.constantFrom('debit', 'INSUFFICIENT_BALANCE', 'app:app_0123')],
] as const)('an array of %s is to the database what the driver’s literal is', async (type, value) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(value as fc.Arbitrary<bigint | string>)), async (values) => {
      const read = await parsed(
        plainArray(values, (each) => each),
        type,
      )
      expect(read).toEqual(await parsed(prepareValue(values), type))
      expect(read.length).toBe(values.length)
    }),
  )
})

test('a binary array of uuids is to the database what the driver’s literal is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uuid(), { size: 'large' }), async (uuids) => {
      const binary = hexUuidArray(uuids.map((uuid) => uuid.replaceAll('-', '')))
      expect(await parsed(binary, 'uuid')).toEqual(uuids)
    }),
  )
})

test('a binary array of bytes is to the database what was in it, empty and absent ones too', async () => {
  const element = fc.option(fc.uint8Array({ maxLength: 300 }))
  await fc.assert(
    fc.asyncProperty(fc.array(element, { size: 'large' }), async (elements) => {
      const array = bytesArray(elements, (bytes) => bytes)
      expect(await parsed(array, 'bytea')).toEqual(elements.map((bytes) => bytes && `\\x${bytes.toHex()}`))
    }),
  )
})

test('a binary array of whole numbers is to the database what the driver’s literal is', async () => {
  const whole = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger())
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(whole), { size: 'large' }), async (values) => {
      const binary = bigintArray(values, (value) => value)
      expect(await parsed(binary, 'bigint')).toEqual(await parsed(prepareValue(values), 'bigint'))
    }),
  )
})

test('columns that the database gathers into arrays come back as rows, value by value', async () => {
  const row = fc.tuple(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String), fc.uuid())
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1 }), async (rows) => {
      const literals = [plainArray(rows, ([number]) => number), plainArray(rows, ([, id]) => id)]
      const columns = await queryArrays(
        db.pool,
        { name: 'gathered', text: 'select $1::bigint[], $2::uuid[]' },
        literals,
      )
      expect(zip<[string, string]>(columns)).toEqual(rows)
    }),
  )
  const none = 'select array_agg(n), array_agg(n) from generate_series(1, 0) n where n::text <> $1'
  expect(zip(await queryArrays(db.pool, { name: 'none', text: none }, ['']))).toEqual([])
})
