/** docs/security.md has a line for every group of routes of the running service, and no line for a group that is gone. */
import { afterAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { openTestService } from './service.ts'

const opened = await openTestService()
afterAll(() => opened.close())

const text = await readFile(new URL('../docs/security.md', import.meta.url), 'utf8')
const section = text.split(/^## /m).find((part) => part.startsWith('Threats by route group'))!
const cells = section.split('\n').flatMap((line) => /^\| (`\/.*?`) +\|/.exec(line)?.[1] ?? [])
const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, group]) => group!))

/** A group is the first part of a path, two in the areas that have many, three below /api. A file of a page belongs to its page. */
const partsOfGroup: Readonly<Record<string, number>> = { api: 3, admin: 2, widget: 2, mails: 2 }

function groupOf(path: string): string {
  const parts = path
    .replace(/\.csv$/, '')
    .split('/')
    .filter(Boolean)
  return `/${parts.slice(0, partsOfGroup[parts[0]!] ?? 1).join('/')}`
}

const paths = [
  ...opened.app.routes.map((route) => route.path),
  ...opened.app.pages.filter(({ method, path }) => method !== 'ALL' && !path.endsWith('*')).map(({ path }) => path),
]
const isNamed = (path: string) => named.includes(groupOf(path)) || named.includes(path)

test('every group of routes has a line in the threat model', () => {
  expect(paths.length).toBeGreaterThan(100)
  expect([...new Set(paths.filter((path) => !isNamed(path)).map(groupOf))].sort()).toEqual([])
})

test('every group that the threat model names has a route', () => {
  const real = new Set(paths.flatMap((path) => [path, groupOf(path)]))
  expect(named.filter((group) => !real.has(group))).toEqual([])
})
