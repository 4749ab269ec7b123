import { expect, test } from 'bun:test'
import type { ComponentChildren, VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { renderIsolated, showControls } from './isolate.ts'

const evil = '\u202eevil'
const Passing = ({ children }: { children?: ComponentChildren }) => <>{children}</>
const Named = ({ name }: { name: string }) => <>{name} pays</>

test.each<[string, VNode, string]>([
  ['a text beside ours', <p>{evil} pays</p>, `<p><bdi>${evil}</bdi> pays</p>`],
  ['letters from right to left', <p>{'שלום'} 12.00</p>, '<p><bdi>שלום</bdi> 12.00</p>'],
  ['a list of texts', <p>{['a', [evil]]}</p>, `<p>a<bdi>${evil}</bdi></p>`],
  [
    'a fragment',
    <p>
      <>{evil}</>
    </p>,
    `<p><bdi>${evil}</bdi></p>`,
  ],
  [
    'a fragment that a component returns',
    <p>
      <Named name={evil} />
    </p>,
    `<p><bdi>${evil}</bdi> pays</p>`,
  ],
  [
    'a text that a component passes on',
    <p>
      <Passing>{evil}</Passing>
    </p>,
    `<p><bdi>${evil}</bdi></p>`,
  ],
  ['a text that is isolated already', <bdi>{evil}</bdi>, `<bdi>${evil}</bdi>`],
  ['an option', <option value={evil}>{evil}</option>, `<option value="${evil}">\\u202eevil</option>`],
  ['a tooltip', <b title={evil}>x</b>, '<b title="\\u202eevil">x</b>'],
  ['a field', <input value={evil} />, `<input value="${evil}" dir="auto"/>`],
  ['a field of our own', <input value="a" />, '<input value="a"/>'],
])('%s is isolated', (_, node, html) => {
  expect(renderIsolated(node)).toBe(html)
})

test('on a page from right to left only characters that override the direction are isolated', () => {
  const node = (
    <p>
      {'שלום'}
      {evil}
    </p>
  )
  expect(renderIsolated(node, 'rtl')).toBe(`<p>שלום<bdi>${evil}</bdi></p>`)
})

const Faulty = (): never => {
  throw new Error('fault')
}

test('other renderings are not changed, also after a fault', () => {
  expect(() => renderIsolated(<Faulty />)).toThrow('fault')
  expect(renderToString(<p>{evil}</p>)).toBe(`<p>${evil}</p>`)
})

test('a control character is shown as its code', () => {
  expect(showControls('a\u202eb\u200f')).toBe('a\\u202eb\\u200f')
})
