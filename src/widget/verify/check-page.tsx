/** The script of the page that checks files: in the browser alone, from disk too. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { fill } from '../../languages/words.ts'
import type { OfflineData } from './offline-data.ts'
import { checkFiles, readFile, type Checked, type ReadFile } from './read-files.ts'
import { FileResult, HistoryLine } from './results.tsx'

const data = JSON.parse(document.getElementById('data')!.textContent) as OfflineData
const { words, lang } = data

/** Two proofs, and a checkpoint beside them. */
const most = { proof: 2, checkpoint: 1 } as const
const mostFiles = 3

function isTooMany(files: readonly ReadFile[]): boolean {
  const count = (kind: ReadFile['kind']) => files.filter((file) => file.kind === kind).length
  return files.length > mostFiles || count('proof') > most.proof || count('checkpoint') > most.checkpoint
}

function Page() {
  const [files, setFiles] = useState<readonly ReadFile[]>([])
  const [keys, setKeys] = useState(data.keys.join('\n'))
  const [hasTooMany, setTooMany] = useState(false)
  const [isOver, setOver] = useState(false)
  const [checked, setChecked] = useState<Checked>()

  useEffect(() => {
    let isCurrent = true
    const lines = keys.split('\n').filter((line) => line.trim() !== '')
    void checkFiles(files, lines).then((result) => isCurrent && setChecked(result))
    return () => {
      isCurrent = false
    }
  }, [files, keys])

  const add = async (list: FileList | null | undefined) => {
    // No more are read than could be shown.
    const added = await Promise.all([...(list ?? [])].slice(0, mostFiles + 1).map(readFile))
    const all = [...files.filter(({ kind }) => kind === 'proof' || kind === 'checkpoint'), ...added]
    setTooMany(isTooMany(all))
    if (!isTooMany(all)) setFiles(all)
  }

  return (
    <>
      <h1>{words.title}</h1>
      <p>{words.intro}</p>
      <div
        class={isOver ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setOver(false)
          void add(event.dataTransfer?.files)
        }}
      >
        <label class="button">
          {words.choose}
          <input
            type="file"
            id="files"
            multiple
            onChange={(event) => {
              const input = event.currentTarget
              // The same file can be chosen again.
              void add(input.files).then(() => (input.value = ''))
            }}
          />
        </label>
        <span>{words.drop}</span>
      </div>
      <section aria-live="polite" aria-label={words.results}>
        {hasTooMany && <p class="bad">{words.tooMany}</p>}
        {checked?.history && <HistoryLine words={words} lang={lang} history={checked.history} />}
        {checked?.files.map((each) => (
          <FileResult data={data} checked={each} />
        ))}
      </section>
      {files.length > 0 && (
        <button type="button" onClick={() => setFiles([])}>
          {words.clear}
        </button>
      )}
      <details>
        <summary>{words.keys}</summary>
        <p id="keys-text">{fill(words.keysText, { service: data.service }, lang)}</p>
        <textarea
          dir="ltr"
          rows={4}
          spellcheck={false}
          aria-label={words.keys}
          aria-describedby="keys-text"
          value={keys}
          onInput={(event) => setKeys(event.currentTarget.value)}
        />
      </details>
      {location.protocol !== 'file:' && (
        <p>
          <a href={data.saveUrl} download="check-proofs.html">
            {words.save}
          </a>{' '}
          {words.saveText}
        </p>
      )}
    </>
  )
}

/** Browsers have it on secure pages, and on files. */
const canCheck = (crypto as Partial<Crypto>).subtle !== undefined
const root = document.getElementById('root')!
root.replaceChildren()
if (canCheck) render(<Page />, root)
else
  render(
    <>
      <h1>{words.title}</h1>
      <p class="bad">{words.noCrypto}</p>
    </>,
    root,
  )
