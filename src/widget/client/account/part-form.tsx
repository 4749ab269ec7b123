/** The forms of the account, with their problems and focus, and the states around them: a question, a loading view, a notice. */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Failure } from '../call.ts'
import { useFailureText } from '../failure-text.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { Notice, useIsMounted } from '../parts.tsx'

export type Values = Readonly<Record<string, string>>
/** Texts by field; `form` is about the whole form. */
export type Problems = Readonly<Record<string, string | undefined>>

type AccountFormProps = {
  button: string
  isDanger?: boolean
  /** The id of the text that names the form. */
  labelledBy?: string
  /** Checks the values before they are sent. */
  check: (values: Values) => Problems
  /** Resolves to undefined on success. */
  send: (values: Values) => Promise<Failure | undefined>
  /** Translates the codes of this form; common failures are handled here. */
  explain: (failure: Failure) => Problems | undefined
  children: (problems: Problems) => ComponentChildren
}

export function AccountForm(props: AccountFormProps) {
  const { button, isDanger = false, labelledBy, check, send, explain, children } = props
  const [problems, setProblems] = useState<Problems>({})
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const isMounted = useIsMounted()

  function complain(found: Problems): boolean {
    setProblems(found)
    const field = Object.keys(found).find((name) => found[name] !== undefined)
    if (field) form.current?.querySelector<HTMLInputElement>(`[name=${field}]`)?.focus()
    return field !== undefined
  }

  const failureText = useFailureText()

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (isBusy) return
    const values = Object.fromEntries(new FormData(form.current!)) as Values
    if (complain(check(values))) return
    setBusy(true)
    const failure = await send(values)
    if (!isMounted()) return
    setBusy(false)
    if (failure) complain(explain(failure) ?? { form: failureText(failure) })
  }

  return (
    <form
      ref={form}
      class="stack"
      noValidate
      onSubmit={(event) => void submit(event)}
      aria-busy={isBusy}
      aria-labelledby={labelledBy}
    >
      <div role="alert">
        {problems['form'] && (
          <Notice tone="bad" icon="alert">
            {problems['form']}
          </Notice>
        )}
      </div>
      {children(problems)}
      <button class={isDanger ? 'button danger' : 'button'} aria-disabled={isBusy}>
        {isBusy && <span class="spinner" aria-hidden="true" />}
        {button}
      </button>
    </form>
  )
}

type AskProps = {
  title: string
  text: string
  more?: string | false | undefined
  button: string
  /** Resolves to undefined on success. */
  onYes: () => Promise<Failure | undefined>
  onNo: () => void
}

/** A confirmation that replaces the button that opened it. It takes the focus; `useAsking` returns it when it closes. */
export function Ask({ title, text, more, button, onYes, onNo }: AskProps) {
  const { say } = usePage<'account'>()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const failureText = useFailureText()
  const heading = useRef<HTMLHeadingElement>(null)
  const isMounted = useIsMounted()
  // By script, because browsers ignore autofocus in cross-origin frames.
  useEffect(() => heading.current?.focus(), [])

  async function go(): Promise<void> {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    const failure = await onYes()
    if (!isMounted()) return
    setBusy(false)
    setProblem(failure && failureText(failure))
  }

  return (
    <div class="ask">
      <h3 ref={heading} tabIndex={-1}>
        {title}
      </h3>
      <p class="muted">{text}</p>
      {more && <p>{more}</p>}
      <div role="alert">{problem && <p class="problem">{problem}</p>}</div>
      <div class="row">
        <button type="button" class="button danger small" aria-disabled={isBusy} onClick={() => void go()}>
          {button}
        </button>
        <button type="button" class="button quiet small" onClick={onNo}>
          {say('cancel')}
        </button>
      </div>
    </div>
  )
}

/** Whether a confirmation is open, and a ref for the button that opens it, which gets the focus back when it closes. */
export function useAsking(): [boolean, (isAsking: boolean) => void, RefObject<HTMLButtonElement | null>] {
  const [isAsking, setAsking] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const wasAsking = useRef(false)
  useEffect(() => {
    if (wasAsking.current && !isAsking) button.current?.focus()
    wasAsking.current = isAsking
  }, [isAsking])
  return [isAsking, setAsking, button]
}

type LoadedProps<T> = { load: Load<T>; onRetry: () => void; children: (value: T) => ComponentChildren }

export type Load<T> = { readonly kind: 'loading' | 'failed' } | { readonly kind: 'there'; readonly value: T }

/** Shows content, or a placeholder while it loads, or an error with a retry button. */
export function Loaded<T>({ load, onRetry, children }: LoadedProps<T>) {
  const { say } = usePage()
  if (load.kind === 'there') return <>{children(load.value)}</>
  if (load.kind === 'loading') return <span class="skeleton line" />
  return (
    <div class="stack">
      <div role="alert">
        <Notice tone="bad" icon="alert">
          {say('notReached')}
        </Notice>
      </div>
      <button type="button" class="button quiet" onClick={onRetry}>
        {say('retry')}
      </button>
    </div>
  )
}

/** A success message, which screen readers announce. */
export function StatusNotice({ text }: { text: string }) {
  return (
    <div role="status">
      {text && (
        <div class="notice good">
          <Icon name="check" />
          <p>{text}</p>
        </div>
      )}
    </div>
  )
}
