import { expect, test } from 'bun:test'
import { hash } from 'node:crypto'
import { assert, integer, nat, property } from 'fast-check'
import { parseReceiptCode, receiptCodeOf } from './receipt-code.ts'

const key = integer().map((seed) => hash('sha256', String(seed), 'hex').slice(0, 32))

test('a code has three groups of four, and its range has its key', () => {
  assert(
    property(key, (key) => {
      const code = receiptCodeOf(key)
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
      const { from, to } = parseReceiptCode(code)!
      expect([from.length, to.length, from <= key, key <= to]).toEqual([32, 32, true, true])
      // All keys of one code have the same code.
      expect([receiptCodeOf(from), receiptCodeOf(to)]).toEqual([code, code])
    }),
  )
})

test('a receipt’s code is read as people write it', () => {
  const code = receiptCodeOf('01'.repeat(16))
  expect(code).toContain('0')
  const range = parseReceiptCode(code)!
  for (const written of [code.toLowerCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')} `])
    expect(parseReceiptCode(written)).toEqual(range)
  expect(parseReceiptCode(code.replaceAll('0', 'o').replaceAll('1', 'l'))).toEqual(range)
})

test('a receipt’s code with one wrong character is none', () => {
  assert(
    property(key, nat(11), nat(30), (key, at, step) => {
      const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
      const plain = receiptCodeOf(key).replaceAll('-', '')
      const wrong = alphabet[(alphabet.indexOf(plain[at]!) + 1 + step) % 32]!
      expect(parseReceiptCode(plain.slice(0, at) + wrong + plain.slice(at + 1))).toBeUndefined()
    }),
  )
})

test.each(['', '0', 'ORDER-1042', 'x'.repeat(5000), '0000-0000-000U', '\u0000'.repeat(12)])('%p is no code', (text) => {
  expect(parseReceiptCode(text)).toBeUndefined()
})
