/**
 * Comments and exported names use plain technical English. The list is short on purpose: each entry is a word or a
 * phrase that earlier code used for many different things, with the words to use instead.
 */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname

const inDocuments: readonly (readonly [RegExp, string])[] = [
  [/\b(whoever|nobody|somebody)\b/i, 'name the subject: caller, operator, another process, no caller'],
  [/\bwhatever\b/i, 'name the thing'],
  [/\b(told|hears?|heard)\b/i, 'notified, reported; receives, received'],
  [/\bof ours\b/i, 'our …'],
  [/\bof (its|their|one[’']s) own\b/i, 'a separate …, its own …'],
]
const inComments: typeof inDocuments = [
  ...inDocuments,
  [/\bwhom\b/i, 'name the subject'],
  [/\btells?\b/i, 'reports, says'],
  [/\b(look(s|ed)? at)\b/i, 'reads, checks, attempts'],
  [/\bstands?\b(?!-)/i, 'is, runs, lives'],
  [/\b(stirred|suspects?)\b/i, 'changed, quarantined'],
  [/\bmoments?\b/i, 'snapshot, instant'],
  [/\bnews\b/i, 'changes'],
  [/\bthe heart\b/i, 'name what it does'],
  [/, for (it|they|he|she|there|nothing|what|that|these|those|no)\b/i, 'because'],
]
/** As words of a camelCase name. */
const inNames: typeof inDocuments = [
  [/\b(whoever|whom|nobody|somebody)\b/, 'name the subject'],
  [/^(note|tell|look)\b|\b(told|heard|looks)\b/, 'record, notify, received, attempt or check'],
  [/\b(stirred|suspects?|news|moment)\b/, 'changed, quarantined, changes, snapshot'],
]

type Finding = { readonly path: string; readonly line: number; readonly says: string; readonly instead: string }

const documents = (
  await Promise.all(
    ['*.md', '{docs,bench,deploy,sdk,example}/**/*.md'].map((glob) => Array.fromAsync(new Glob(glob).scan(root))),
  )
)
  .flat()
  .filter((path) => !path.includes('node_modules'))
  .sort()

const paths = (await Array.fromAsync(new Glob('{src,sdk,conform,sandbox,example,bench,test}/**/*.{ts,tsx}').scan(root)))
  // This file has to name the words.
  .filter((path) => !path.includes('node_modules') && path !== 'test/plain-words.test.ts')
  .sort()

function* commentsIn(text: string) {
  for (const match of text.matchAll(/(?<=^|[\s{])(\/\*[\s\S]*?\*\/|\/\/.*)/gm)) yield [match.index, match[0]] as const
}

function* exportedNamesIn(text: string) {
  const declared = /^export (?:default )?(?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm
  for (const match of text.matchAll(declared)) yield [match.index, inWords(match[1]!)] as const
}

const inWords = (name: string) => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase()

async function findingsIn(path: string): Promise<Finding[]> {
  const text = await readFile(join(root, path), 'utf8')
  const check = (list: typeof inNames, found: Iterable<readonly [number, string]>) =>
    [...found].flatMap(([at, said]) =>
      list.flatMap(([word, instead]) => {
        // A phrase may go on in the next line.
        const match = word.exec(said.replaceAll('\n', ' '))
        if (!match) return []
        const line = text.slice(0, at).split('\n').length + said.slice(0, match.index).split('\n').length - 1
        return [{ path, line, says: match[0], instead }]
      }),
    )
  if (path.endsWith('.md'))
    return check(
      inDocuments,
      [...text.matchAll(/(.+\n?)+/g)].map((part) => [part.index, part[0]]),
    )
  return [...check(inComments, commentsIn(text)), ...check(inNames, exportedNamesIn(text))]
}

const describe = ({ path, line, says, instead }: Finding) => `${path}:${line}: “${says}” → ${instead}`

test('comments and exported names use plain words', async () => {
  const found = (await Promise.all(paths.map(findingsIn))).flat()
  expect(found.map(describe)).toEqual([])
})

test('documents use plain words', async () => {
  expect(documents.length).toBeGreaterThan(30)
  const found = (await Promise.all(documents.map(findingsIn))).flat()
  expect(found.map(describe)).toEqual([])
})
