/** Loads the script and texts of a view when it is opened, and shows it. `later-views` explains how to add one. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LaterFiles, LaterView } from '../later-views.ts'
import type { View as Account } from './account/account.tsx'
import type { View as Activity } from './activity/activity.tsx'
import { PageContext, usePage } from './page-context.tsx'
import { Notice, useIsMounted, ViewHead } from './parts.tsx'
import type { View as Prove } from './prove.tsx'

type Views = { readonly account: typeof Account; readonly activity: typeof Activity; readonly prove: typeof Prove }
type Loaded<Name extends LaterView> = { readonly View: Views[Name]; readonly words: Readonly<Record<string, string>> }

type LoadViewProps<Name extends LaterView> = {
  name: Name
  /** Shown while the view is loading. */
  title: string
  onBack: () => void
  children: (View: Views[Name]) => VNode
}

export function LoadView<Name extends LaterView>({ name, title, onBack, children }: LoadViewProps<Name>) {
  const page = usePage()
  const isMounted = useIsMounted()
  const [loaded, setLoaded] = useState(ready.get(name) as Loaded<Name> | undefined)
  const [hasFailed, setFailed] = useState(false)
  const files = page.later[name]!

  async function loadAndShow(): Promise<void> {
    setFailed(false)
    const result = await load(name, files)
    if (!isMounted()) return
    if (result) setLoaded(result)
    else setFailed(true)
  }

  /** Reloads the page if its files are gone: a newer version of the service no longer serves them. */
  async function tryAgain(): Promise<void> {
    setFailed(false)
    if (await isGone(files)) location.reload()
    else await loadAndShow()
  }

  useEffect(() => {
    if (!loaded) void loadAndShow()
  }, [])

  if (loaded)
    return (
      <PageContext.Provider value={{ ...page, words: { ...page.words, ...(page.laterWords?.[name] ?? loaded.words) } }}>
        {children(loaded.View)}
      </PageContext.Provider>
    )
  return (
    <section class="account" aria-busy={!hasFailed}>
      <ViewHead title={title} onBack={onBack} />
      <div class="card stack">
        <div role="alert">
          {hasFailed && (
            <Notice tone="bad" icon="alert">
              {page.say(navigator.onLine ? 'wentWrong' : 'notReached')}
            </Notice>
          )}
        </div>
        {hasFailed ? (
          <button type="button" class="button quiet" onClick={() => void tryAgain()}>
            {page.say('retry')}
          </button>
        ) : (
          [0, 1, 2].map((row) => <span key={row} class="skeleton line" />)
        )}
      </div>
    </section>
  )
}

/** Loads views when the browser is idle, so that they open without a wait. */
export function usePreload(names: readonly LaterView[]): void {
  const { later } = usePage()
  useEffect(() => {
    const { connection } = navigator as { connection?: { saveData?: boolean } }
    if (connection?.saveData) return undefined
    const start = () => void Promise.all(names.map((name) => load(name, later[name]!)))
    if (!('requestIdleCallback' in window)) {
      const timer = setTimeout(start, 1_000)
      return () => clearTimeout(timer)
    }
    const idle = requestIdleCallback(start, { timeout: 5_000 })
    return () => cancelIdleCallback(idle)
  }, [])
}

const timeoutMs = 15_000
const ready = new Map<LaterView, Loaded<LaterView>>()
const loading = new Map<LaterView, Promise<Loaded<LaterView> | undefined>>()
let failures = 0

/** Resolves to undefined if the view could not be loaded. */
function load<Name extends LaterView>(name: Name, files: LaterFiles): Promise<Loaded<Name> | undefined> {
  let under = loading.get(name)
  if (!under) {
    under = fetchView(files).then(
      (loaded) => {
        ready.set(name, loaded)
        return loaded
      },
      () => {
        failures++
        loading.delete(name)
        return undefined
      },
    )
    loading.set(name, under)
  }
  return under as Promise<Loaded<Name> | undefined>
}

async function fetchView({ script, words }: LaterFiles): Promise<Loaded<LaterView>> {
  // Browsers cache a failed import, so the next attempt needs another address.
  const address = failures === 0 ? script : `${script}?try=${failures}`
  const [view, texts] = await Promise.all([
    withinLimit(import(address) as Promise<{ View: Views[LaterView] }>),
    fetchFile(words).then((response) => {
      if (!response.ok) throw new Error(`${response.status} ${words}`)
      return response.json() as Promise<Record<string, string>>
    }),
  ])
  return { View: view.View, words: texts }
}

function withinLimit<T>(result: Promise<T>): Promise<T> {
  const tooLate = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), timeoutMs))
  return Promise.race([result, tooLate])
}

function fetchFile(address: string): Promise<Response> {
  return fetch(address, { credentials: 'omit', signal: AbortSignal.timeout(timeoutMs) })
}

async function isGone({ script, words }: LaterFiles): Promise<boolean> {
  const answers = await Promise.allSettled([fetchFile(script), fetchFile(words)])
  return answers.some((answer) => answer.status === 'fulfilled' && answer.value.status === 404)
}
