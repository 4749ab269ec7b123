/**
 * Texts of strangers in pages: names, references, descriptions, notes. A letter that is written from right to left, or an invisible
 * character that changes the direction, would reorder our own words and amounts beside it. So every text with one is rendered inside
 * `<bdi>`, which no page has to remember.
 */
import { Fragment, h, options, type ComponentChildren, type VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'

const control = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const controls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Without the marks, which our own amounts contain in Arabic and Hebrew. */
const override = /[\u202a-\u202e\u2066-\u2069]/
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b]/

/** Shows characters that change the direction as their code, for places that cannot contain `<bdi>`. */
export function showControls(text: string): string {
  return text.replace(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Runs before a node is rendered. Preact does not type it, because it is internal; a test fails if it is renamed. */
const beforeRender = '__b'
type Hook = (node: VNode) => void
const hooks = options as { [beforeRender]?: Hook; vnode?: Hook }

/**
 * For bodies that no script renders again in the browser: hydration expects exactly what the script renders. On a page that is itself
 * written from right to left, only characters that override the direction are foreign.
 */
export function renderIsolated(body: VNode, dir: 'ltr' | 'rtl' = 'ltr'): string {
  const isForeign = (text: string) =>
    dir === 'rtl' ? override.test(text) : control.test(text) || rightToLeft.test(text)
  const before = { ...hooks }
  const isolateAfter = (hook: Hook | undefined, isFor: (node: VNode) => boolean) => (node: VNode) => {
    hook?.(node)
    if (isFor(node)) isolate(node, isForeign)
  }
  hooks[beforeRender] = isolateAfter(before[beforeRender], ({ type }) => typeof type === 'string' || type === Fragment)
  // A fragment that a component returns is made while it renders, and is not rendered as a node.
  hooks.vnode = isolateAfter(before.vnode, ({ type }) => type === Fragment)
  try {
    return renderToString(body)
  } finally {
    Object.assign(hooks, { [beforeRender]: before[beforeRender], vnode: before.vnode })
  }
}

type Props = Record<string, unknown> & { children?: ComponentChildren }

/** Their content is no text of the page, or is isolated already. */
const untouched = new Set(['bdi', 'script', 'style', 'textarea', 'title'])
/** Attributes that must keep the exact text: what is sent back, copied or opened. */
const exact = new Set(['value', 'href', 'action', 'src', 'data-copy', 'content'])

function isolate(node: VNode<Props>, isForeign: (text: string) => boolean): void {
  const { type } = node
  const props: Props = { ...node.props }
  for (const [name, value] of Object.entries(props))
    if (typeof value === 'string' && name !== 'children' && !exact.has(name)) props[name] = showControls(value)
  const typed = type === 'input' ? props['value'] : type === 'textarea' ? props.children : undefined
  if (typeof typed === 'string' && isForeign(typed)) props['dir'] = 'auto'
  if (typeof type !== 'string' || !untouched.has(type)) {
    const wrap = (text: string) =>
      !isForeign(text) ? text : type === 'option' ? showControls(text) : h('bdi', null, text)
    props.children = mapTexts(props.children, wrap)
  }
  node.props = props as typeof node.props
}

function mapTexts(children: ComponentChildren, map: (text: string) => ComponentChildren): ComponentChildren {
  if (Array.isArray(children)) return children.map((child: ComponentChildren) => mapTexts(child, map))
  return typeof children === 'string' ? map(children) : children
}
