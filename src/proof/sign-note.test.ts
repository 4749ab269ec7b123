import { expect, test } from 'bun:test'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey, toBase64 } from '../../sdk/verify/note.ts'
import { checkpointText, newKeySeed, publishedKey, signNote } from './sign-note.ts'

/** The example of the Go package that introduced signed notes. */
const published = {
  key: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  seed: new Uint8Array(Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1)),
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  signature:
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
}
const note = `${published.text}\n${published.signature}`

const signersOf = async (text: string, ...keys: readonly string[]) => {
  const parsed = parseNote(text)
  const known = await Promise.all(keys.map(parseSignerKey))
  return parsed === null
    ? null
    : (
        await findSigners(
          parsed,
          known.filter((key) => key !== null),
        )
      ).map(({ name }) => name)
}

test('the published note is signed with the published key, byte by byte', async () => {
  expect(await publishedKey('PeterNeumann', published.seed)).toBe(published.key)
  expect(await signNote(published.text, 'PeterNeumann', published.seed)).toBe(note)
  expect(await signersOf(note, published.key)).toEqual(['PeterNeumann'])
})

test('a note with a changed character has no signer, wherever the change is', async () => {
  for (let i = 0; i < note.length; i++) {
    const changed = note.slice(0, i) + (note[i] === 'A' ? 'B' : 'A') + note.slice(i + 1)
    expect((await signersOf(changed, published.key)) ?? []).toEqual([])
  }
})

test('signatures of strangers are passed over, and one wrong signature of a known key spoils the note', async () => {
  const seed = newKeySeed()
  const key = await publishedKey('books.example/1', seed)
  const own = await signNote(published.text, 'books.example/1', seed)
  const both = note + own.slice(published.text.length + 1)
  expect(await signersOf(both, key)).toEqual(['books.example/1'])
  expect(await signersOf(both, published.key, key)).toEqual(['PeterNeumann', 'books.example/1'])
  expect(await signersOf(both)).toEqual([])
  const spoiled = own + published.signature.replace('x08go/ZJ', 'x08go/ZK')
  expect(await signersOf(spoiled, key)).toEqual(['books.example/1'])
  expect(await signersOf(spoiled, published.key, key)).toEqual([])
})

test('what is no note is refused', () => {
  const line = published.signature
  for (const text of [
    '',
    'text\n',
    'text\n\n',
    `text\n${line}`,
    `text\n\n${line.trimEnd()}`,
    `te\u0000xt\n\n${line}`,
    `te\rxt\n\n${line}`,
    `te\ud800xt\n\n${line}`,
    `text\n\n${line}${line} `,
    `text\n\n${line.replace('PeterNeumann', 'Peter+Neumann')}`,
    `text\n\n${line.replace('=', '')}`,
    `text\n\n${'— a AAAAAAA=\n'.repeat(101)}`,
    `${'x'.repeat(100_000)}\n\n${line}`,
  ])
    expect(parseNote(text)).toBeNull()
})

test('a published key with another name, id or algorithm is refused', async () => {
  for (const key of [
    '',
    published.key.replace('Peter', 'Paul'),
    published.key.replace('c74f20a3', 'c74f20a4'),
    published.key.replace('+AR', '+AB'),
    published.key.slice(0, -4),
  ])
    expect(await parseSignerKey(key)).toBeNull()
})

test('a checkpoint is read as it was written, and nothing else is one', () => {
  const root = new Uint8Array(32).fill(7)
  const checkpoint = { origin: 'books.example/1', size: 42, root }
  for (const signedAt of [null, new Date('2026-03-04T02:00:00.123Z')])
    expect(parseCheckpoint(checkpointText({ ...checkpoint, signedAt }))).toEqual({ ...checkpoint, signedAt })
  // Lines of other kinds mean nothing to it, and neither does a time that is none, or two of them.
  const head = checkpointText({ ...checkpoint, signedAt: null })
  const time = 'signed 2026-03-04T02:00:00.123Z\n'
  expect(parseCheckpoint(`${head}other line\n${time}`)?.signedAt).toEqual(new Date('2026-03-04T02:00:00.123Z'))
  for (const lines of [`${time}${time}`, 'signed 2026-03-04\n', 'signed x\n', 'signed \n', 'Signed 2026\n', 'signed'])
    expect(parseCheckpoint(head + lines)).toEqual({ ...checkpoint, signedAt: null })
  const encoded = toBase64(root)
  for (const text of [
    '',
    'a\n',
    `\n1\n${encoded}\n`,
    `a\n01\n${encoded}\n`,
    `a\n-1\n${encoded}\n`,
    `a\n1e3\n${encoded}\n`,
    'a\n1\nAAAA\n',
  ])
    expect(parseCheckpoint(text)).toBeNull()
})
