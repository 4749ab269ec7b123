import { expect, test } from 'bun:test'
import { findTags } from './html-tags.ts'

test.each([
  ['quotes of both kinds, and none', `<meta a="1>2" b='3"4' c=5>`, [{ a: '1>2', b: '3"4', c: '5' }]],
  ['capitals, spaces and no value', '<META\n Name = "x" hidden\t/>', [{ name: 'x', hidden: '' }]],
  ['an attribute given twice', '<meta a=1 A=2>', [{ a: '1' }]],
  ['escapes', '<meta a="x?a=1&amp;b=&quot;&amp;quot;">', [{ a: 'x?a=1&b="&quot;' }]],
  ['another name that begins alike', '<metadata a=1><meta-x a=2><meta>', [{}]],
  ['a comment', '<!-- <meta a=1> --><meta a=2><!-- <meta a=3>', [{ a: '2' }]],
  ['no end', '<meta a=1><meta a="2', [{ a: '1' }]],
  ['a name of its own', '<meta __proto__=1 constructor=2>', [JSON.parse('{"__proto__":"1","constructor":"2"}')]],
])('tags with %s are read as a browser reads them', (_, html, tags) => {
  expect(findTags(html, 'meta')).toEqual(tags)
})

test('of tags, attributes and values only so many and so much is kept', () => {
  expect(findTags('<meta a=1>'.repeat(500), 'meta')).toHaveLength(50)
  const attributes = Array.from({ length: 500 }, (_, i) => `a${i}=${'x'.repeat(3_000)}`).join(' ')
  const [tag] = findTags(`<meta ${attributes}>`, 'meta')
  expect(Object.keys(tag!)).toHaveLength(50)
  expect(tag!['a0']).toHaveLength(2_000)
})

test.each([
  '<meta ',
  '<meta a="',
  '<meta a=\'"',
  '<',
  '<!--',
  '<meta a=',
  '<meta =',
  '<meta a',
  '<meta>',
  '<iframe /',
  '="',
])('half a megabyte of %s takes no longer than half a megabyte of anything', (piece) => {
  const html = piece.repeat((512 * 1024) / piece.length)
  const before = process.cpuUsage()
  findTags(html, 'meta')
  findTags(html, 'iframe')
  const { user, system } = process.cpuUsage(before)
  // A parser that scans the rest of the page for each tag takes more than ten seconds, and far longer on a slow machine.
  expect((user + system) / 1000).toBeLessThan(5_000)
})
