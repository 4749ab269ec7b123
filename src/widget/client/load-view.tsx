/** Loads the script and texts of a view when it is opened, and shows it. `later-views` explains how to add one. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LaterFiles, LaterView } from '../later-views.ts'
import type { View as Account } from './account/account.tsx'
import type { View as Activity } from './activity/activity.tsx'
import type { View as Ended } from './ended.tsx'
import { PageContext, usePage } from './page-context.tsx'
import { Notice, useIsMounted, ViewHead } from './parts.tsx'
import type { View as Pending } from './pending/pending.tsx'
import type { View as Prove } from './prove.tsx'
import type { View as Pay } from './topup/pay.tsx'

type Views = {
  readonly account: typeof Account
  readonly activity: typeof Activity
  readonly pending: typeof Pending
  readonly prove: typeof Prove
  readonly ended: typeof Ended
  readonly pay: typeof Pay
}
type Loaded<Name extends LaterView> = { readonly View: Views[Name]; readonly words: Readonly<Record<string, string>> }

type LoadViewProps<Name extends LaterView> = {
  name: Name
  /** Shown while the view is loading. */
  title: string
  /** Absent where there is no way back. */
  onBack?: (() => void) | undefined
  /** Shown instead of the title while the view is loading; a failure shows the title. */
  waiting?: VNode
  /** The page is complete without it: a failure shows nothing. */
  isOptional?: boolean
  children: (View: Views[Name]) => VNode
}

export function LoadView<Name extends LaterView>({
  name,
  title,
  onBack,
  waiting,
  isOptional,
  children,
}: LoadViewProps<Name>) {
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
  if (waiting && !hasFailed) return waiting
  if (isOptional) return null
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

const firstUse = ['pointerover', 'pointerdown', 'focusin'] as const

/**
 * Loads the page's views as soon as the user points at the page or moves the focus into it, so that they open without a wait. Until then
 * none loads.
 */
export function usePreload(): void {
  const { later } = usePage()
  useEffect(() => {
    const stop = () => firstUse.forEach((type) => removeEventListener(type, start))
    const start = () => {
      stop()
      for (const [name, files] of Object.entries(later)) void load(name as LaterView, files)
    }
    const { connection } = navigator as { connection?: { saveData?: boolean } }
    if (!connection?.saveData) firstUse.forEach((type) => addEventListener(type, start))
    return stop
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

async function fetchView({ script, words, style }: LaterFiles): Promise<Loaded<LaterView>> {
  // Browsers cache a failed import, so the next attempt needs another address.
  const address = failures === 0 ? script : `${script}?try=${failures}`
  const [view, texts] = await Promise.all([
    withinLimit(import(address) as Promise<{ View: Views[LaterView] }>),
    fetchFile(words).then((response) => {
      if (!response.ok) throw new Error(`${response.status} ${words}`)
      return response.json() as Promise<Record<string, string>>
    }),
    withinLimit(loadStyle(style)),
  ])
  return { View: view.View, words: texts }
}

const styles = new Map<string, Promise<void>>()

/** Views share a stylesheet. If it failed, the next attempt loads it again. */
function loadStyle(href: string): Promise<void> {
  let style = styles.get(href)
  if (!style) {
    style = new Promise((resolve, reject) => {
      const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href })
      link.addEventListener('load', () => resolve())
      link.addEventListener('error', () => {
        link.remove()
        styles.delete(href)
        reject(new Error(`no ${href}`))
      })
      document.head.append(link)
    })
    styles.set(href, style)
  }
  return style
}

function withinLimit<T>(result: Promise<T>): Promise<T> {
  const tooLate = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), timeoutMs))
  return Promise.race([result, tooLate])
}

function fetchFile(address: string): Promise<Response> {
  return fetch(address, { credentials: 'omit', signal: AbortSignal.timeout(timeoutMs) })
}

async function isGone({ script, words, style }: LaterFiles): Promise<boolean> {
  const answers = await Promise.allSettled([script, words, style].map(fetchFile))
  return answers.some((answer) => answer.status === 'fulfilled' && answer.value.status === 404)
}
