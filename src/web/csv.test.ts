import { expect, test } from 'bun:test'
import { csvLine, plain } from './csv.ts'

test.each([
  ['plain', 'plain'],
  ['with, comma', '"with, comma"'],
  ['with "quotes"', '"with ""quotes"""'],
  ['two\nlines', '"two\nlines"'],
  ['semi;colon', '"semi;colon"'],
  ['', ''],
])('the text %j is written as %j', (text, written) => {
  expect(csvLine([text])).toBe(`${written}\r\n`)
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '＝1', '=HYPERLINK("http://evil.example")'])(
  'the text %j is no formula to a spreadsheet',
  (text) => {
    const cell = csvLine([text]).slice(0, -2)
    expect(cell.replace(/^"/, '')).toStartWith("'")
    expect(cell.replaceAll('""', '"').replace(/^"|"$/g, '')).toBe(`'${text}`)
  },
)

test('an amount below zero stays a number', () => {
  expect(csvLine([plain('-12.50'), 7, 8n, null])).toBe('-12.50,7,8,\r\n')
})
