/** Every path that documentation or a comment names in backticks exists. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const glob = async (pattern: string) =>
  (await Array.fromAsync(new Glob(pattern).scan({ cwd: root, dot: false }))).filter(
    (path) => !path.includes('node_modules'),
  )

const extensions = ['', '.ts', '.tsx', '.md', '.sql', '.css']
/** Folders that a path may be named from, besides that of the file which names it. */
const bases = ['', 'src', 'src/store', 'test', 'docs', 'deploy', 'sdk', 'example', 'bench']

const exists = (path: string, from: string) =>
  [dirname(from), ...bases].some((base) =>
    extensions.some((extension) => existsSync(join(root, base, path + extension))),
  )

/** Folders of this repository: text with a slash is a path when it starts with one, or ends like one of our files. */
const rooms =
  'src|sdk|conform|sandbox|example|bench|test|docs|deploy|store|actions|api|widget|admin|web|ledger|cards|cli|languages|work|platform|process'
const isPath = (text: string) =>
  new RegExp(`^(\\./)?(${rooms})/[\\w./-]+$`).test(text) ||
  /^[\w./-]+\.(ts|tsx|md|sql|css|sh|yaml|yml|conf)$/.test(text)

/** Files of PostgreSQL and Patroni, and folders that measurements and screenshots are written to. */
const notCommitted = /^(postgresql(\.auto)?\.conf|db1\.yml|bench\/results\/.*|test\/screenshots)$/

function missingIn(path: string, text: string): string[] {
  const named = [...text.matchAll(/`([^`\n]+)`/g)].map(([, each]) => each!.replace(/[#:].*$/, ''))
  return named
    .filter((each) => isPath(each) && !notCommitted.test(each) && !exists(each, path))
    .map((each) => `${path}: ${each}`)
}

const commentsOf = (text: string) => text.match(/(?<=^|[\s{])(\/\*[\s\S]*?\*\/|\/\/.*)/gm)?.join('\n') ?? ''

test('every path that is named in backticks exists', async () => {
  const documents = [...(await glob('*.md')), ...(await glob('{docs,deploy,bench,sdk,example}/**/*.md'))]
  const sources = await glob('{src,sdk,conform,sandbox,example,bench,test}/**/*.{ts,tsx}')
  const missing = await Promise.all(
    // The change log names files that are gone.
    [...documents.filter((path) => path !== 'CHANGELOG.md'), ...sources].map(async (path) => {
      const text = await readFile(join(root, path), 'utf8')
      return missingIn(path, path.endsWith('.md') ? text : commentsOf(text))
    }),
  )
  expect(missing.flat()).toEqual([])
})
