/**
 * Renders the chart without Helm: the part of Go's templates and of Helm's functions that the chart uses. Anything else is an error, as
 * is a value that does not exist. Rendered once by Go's own text/template with sprig as well, the objects were the same.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Tree = Record<string, unknown>
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly pipeline: string }
  | { readonly kind: 'if'; readonly pipeline: string; readonly body: Node[]; readonly otherwise: Node[] }
  | {
      readonly kind: 'range'
      readonly names: readonly [string, string]
      readonly pipeline: string
      readonly body: Node[]
    }
type Token = { readonly text: string } | { readonly action: string }
type Scope = { readonly dot: unknown; readonly variables: Readonly<Record<string, unknown>> }

/** `{{-` removes the white space before it, and `-}}` the white space after it. */
function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  let rest = source
  for (let trimsStart = false; ;) {
    const found = /\{\{(-(?=\s))?\s*(.*?)\s*((?<=\s)-)?\}\}/s.exec(rest)
    const before = found ? rest.slice(0, found.index) : rest
    const start = trimsStart ? before.trimStart() : before
    tokens.push({ text: found?.[1] ? start.trimEnd() : start })
    if (!found) return tokens
    tokens.push({ action: found[2]! })
    trimsStart = found[3] !== undefined
    rest = rest.slice(found.index + found[0].length)
  }
}

/** Reads nodes up to the `end` or `else` that closes them, and returns it. */
function parseNodes(tokens: Token[], templates: Map<string, Node[]>): { nodes: Node[]; closedBy: string } {
  const nodes: Node[] = []
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    if ('text' in token) {
      nodes.push({ kind: 'text', text: token.text })
      continue
    }
    const { action } = token
    const [word = ''] = action.split(/\s/)
    if (word === 'end' || word === 'else') return { nodes, closedBy: action }
    if (word === 'define') templates.set(JSON.parse(action.slice(6)) as string, parseNodes(tokens, templates).nodes)
    else if (word === 'if') nodes.push(parseIf(action.slice(2), tokens, templates))
    else if (word === 'range') nodes.push(parseRange(action, tokens, templates))
    else nodes.push({ kind: 'print', pipeline: action })
  }
  return { nodes, closedBy: '' }
}

function parseIf(pipeline: string, tokens: Token[], templates: Map<string, Node[]>): Node {
  const { nodes: body, closedBy } = parseNodes(tokens, templates)
  if (closedBy !== 'end' && closedBy !== 'else') throw new Error(`not a template we know: ${closedBy}`)
  const otherwise = closedBy === 'else' ? parseNodes(tokens, templates).nodes : []
  return { kind: 'if', pipeline, body, otherwise }
}

function parseRange(action: string, tokens: Token[], templates: Map<string, Node[]>): Node {
  const [, key, value, pipeline] = /^range (\$\w+), (\$\w+) := (.*)$/.exec(action) ?? []
  if (pipeline === undefined) throw new Error(`not a range we know: ${action}`)
  return { kind: 'range', names: [key!, value!], pipeline, body: parseNodes(tokens, templates).nodes }
}

const isTruthy = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

const sorted = (value: unknown): unknown =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, each]) => [key, sorted(each)]),
      )

const toText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new Error(`cannot print ${JSON.stringify(value)}`)
}

/** As in Helm, `required` accepts everything but nothing and an empty text. */
const functions: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  default: (fallback, value) => (isTruthy(value) ? value : fallback),
  fail: (message) => {
    throw new Error(toText(message))
  },
  nindent: (width, text) => `\n${toText(text).replace(/^/gm, ' '.repeat(Number(width)))}`,
  not: (value) => !isTruthy(value),
  quote: (value) => JSON.stringify(toText(value)),
  required: (message, value) => {
    if (value === null || value === undefined || value === '') throw new Error(toText(message))
    return value
  },
  sha256sum: (text) => createHash('sha256').update(toText(text)).digest('hex'),
  toJson: (value) => JSON.stringify(sorted(value)),
  // JSON is YAML too.
  toYaml: (value) => JSON.stringify(sorted(value)),
}

function render(nodes: readonly Node[], scope: Scope, templates: ReadonlyMap<string, Node[]>): string {
  const evaluate = (pipeline: string) => evaluatePipeline(pipeline, scope, templates)
  const rendered = nodes.map((node) => {
    if (node.kind === 'text') return node.text
    if (node.kind === 'print') return toText(evaluate(node.pipeline))
    if (node.kind === 'if')
      return render(isTruthy(evaluate(node.pipeline)) ? node.body : node.otherwise, scope, templates)
    const [key, value] = node.names
    const entries = Object.entries(sorted(evaluate(node.pipeline)) as Tree)
    return entries
      .map(([name, each]) => {
        const variables = { ...scope.variables, [key]: name, [value]: each }
        return render(node.body, { dot: each, variables }, templates)
      })
      .join('')
  })
  return rendered.join('')
}

function evaluatePipeline(pipeline: string, scope: Scope, templates: ReadonlyMap<string, Node[]>): unknown {
  const words = [...pipeline.matchAll(/"(?:[^"\\]|\\.)*"|[^\s|]+|\|/g)].map(([word]) => word)
  let piped: unknown[] = []
  for (let start = 0; start <= words.length;) {
    const bar = words.indexOf('|', start)
    const end = bar < 0 ? words.length : bar
    const [first = '', ...rest] = words.slice(start, end)
    const args = [...rest.map((word) => operand(word, scope)), ...piped]
    if (first === 'include')
      piped = [
        render(
          templates.get(String(args[0])) ?? missing(`template ${String(args[0])}`),
          { dot: args[1], variables: {} },
          templates,
        ),
      ]
    else if (/^[a-z]\w*$/i.test(first)) piped = [(functions[first] ?? missing(`function ${first}`))(...args)]
    else if (args.length > 0) throw new Error(`not a pipeline we know: ${pipeline}`)
    else piped = [operand(first, scope)]
    start = end + 1
  }
  return piped[0]
}

function operand(word: string, { dot, variables }: Scope): unknown {
  if (word.startsWith('"')) return JSON.parse(word)
  if (/^\d+$/.test(word)) return Number(word)
  if (word === '.') return dot
  if (word.startsWith('$')) return word in variables ? variables[word] : missing(word)
  if (!/^(\.\w+)+$/.test(word)) throw new Error(`not an operand we know: ${word}`)
  return word
    .slice(1)
    .split('.')
    .reduce<unknown>((tree, key) => (tree as Tree | undefined)?.[key] ?? missing(word), dot)
}

function missing(what: string): never {
  throw new Error(`there is no ${what}`)
}

/** What `--set` does: a path, and a text, a number or a truth value. */
export function setValue(values: Tree, assignment: string): Tree {
  const [, path, text] = /^([\w.]+)=(.*)$/.exec(assignment) ?? missing(`= in ${assignment}`)
  const value = /^(true|false|\d+)$/.test(text!) ? (JSON.parse(text!) as unknown) : text
  const place = (tree: Tree, [key, ...rest]: string[]): Tree => ({
    ...tree,
    [key!]: rest.length > 0 ? place((tree[key!] ?? {}) as Tree, rest) : value,
  })
  return place(values, path!.split('.'))
}

export type Release = { readonly Name: string; readonly Revision: number }

/** The objects of every template, in the order of the files. */
export function renderChart(folder: string, values: Tree, release: Release): Tree[] {
  const names = readdirSync(join(folder, 'templates')).toSorted()
  const templates = new Map<string, Node[]>()
  const files = names.map((name) => {
    const { nodes, closedBy } = parseNodes(tokensOf(readFileSync(join(folder, 'templates', name), 'utf8')), templates)
    if (closedBy !== '') throw new Error(`${name}: ${closedBy} closes nothing`)
    return nodes
  })
  const { appVersion } = Bun.YAML.parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as { appVersion: string }
  const scope = { dot: { Values: values, Release: release, Chart: { AppVersion: appVersion } }, variables: {} }
  return files.flatMap((nodes) => objectsIn(render(nodes, scope, templates)))
}

/** Documents that contain more than comments. */
export function objectsIn(yaml: string): Tree[] {
  const documents = yaml.split(/^---.*$/m).filter((text) => /^[^#\s]/m.test(text))
  return documents.map((text) => Bun.YAML.parse(text) as Tree)
}
