/** Sign-up and sign-in. On success it posts a message to the parent, whose backend then creates a session. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call } from './call.ts'
import { storeCodeStep, storedCodeStep } from './code-in-history.ts'
import { CodeField, EmailField, Field, PasswordField } from './fields.tsx'
import { relativeWait } from './format.ts'
import { Phrase, usePage } from './page-context.tsx'
import type { Parent } from './parent.ts'
import { AppMark, Heading, Legal, Notice, Panel, TopBar, useIsMounted, useIsHydrated } from './parts.tsx'
import {
  cleanValues,
  findProblems,
  problemsOf,
  steps,
  type FieldName,
  type Problems,
  type StepName,
  type Values,
} from './sign-in-steps.ts'

type Answer = {
  readonly next?: 'confirm' | 'reset'
  /** The code that this call mailed works only with it. */
  readonly handle?: string
  readonly serviceUserId?: string
  readonly linkCode?: string
}

const slowAfterMs = 8000

export function SignIn({ parent, first = 'login' }: { parent: Parent | undefined; first?: StepName | undefined }) {
  const { say, service, words } = usePage()
  const [step, setStep] = useState<StepName>(first)
  const [email, setEmail] = useState('')
  const [handle, setHandle] = useState<string>()
  const [isDone, setDone] = useState(false)
  const isMounted = useIsMounted()
  useEffect(() => parent?.post({ type: 'SERVICE_AUTH_REQUIRED', version: 1 }), [])

  // After the first render, which must equal the server's.
  useLayoutEffect(() => {
    const stored = storedCodeStep()
    if (!stored) return
    setEmail(stored.email)
    setHandle(stored.handle)
    setStep(stored.step)
  }, [])

  function goTo(next: StepName): void {
    storeCodeStep(null)
    setStep(next)
  }

  function waitForCode(next: 'confirm' | 'reset', email: string, handle: string | undefined): void {
    storeCodeStep({ step: next, email, handle })
    setHandle(handle)
    setStep(next)
  }

  function succeed({ serviceUserId, linkCode }: Answer): void {
    // The parent has posted a session in the meantime, so this sign-in is not reported any more.
    if (!isMounted()) return
    storeCodeStep(null)
    setDone(true)
    parent?.post({
      type: 'SERVICE_AUTH_SUCCESS',
      version: 1,
      serviceUserId: serviceUserId ?? '',
      linkCode: linkCode ?? '',
    })
  }

  if (isDone) return <Connecting parent={parent} onAgain={() => (setDone(false), setStep('login'))} />
  return (
    <>
      <section class="sign-in card">
        {parent && !parent.isThere && (
          <Notice tone="info" icon="window">
            {say('outsideNote')}
          </Notice>
        )}
        <StepForm
          key={step}
          step={step}
          email={email}
          handle={handle}
          onEmail={setEmail}
          onStep={goTo}
          onCode={waitForCode}
          onDone={succeed}
        />
      </section>
      <Legal service={service} words={words} />
    </>
  )
}

function Connecting({ parent, onAgain }: { parent: Parent | undefined; onAgain: () => void }) {
  const { say } = usePage()
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), slowAfterMs)
    return () => clearTimeout(timer)
  }, [])
  const isOutside = parent !== undefined && !parent.isThere
  return (
    <>
      <TopBar />
      <Panel icon="check" title={say(isOutside ? 'signedInOutside' : 'connecting')} isBusy={!isOutside && !isSlow}>
        {isSlow && !isOutside && (
          <>
            <p role="status">{say('connectingSlow')}</p>
            <button type="button" class="button quiet" onClick={onAgain}>
              {say('signIn')}
            </button>
          </>
        )}
      </Panel>
    </>
  )
}

type StepFormProps = {
  step: StepName
  email: string
  handle: string | undefined
  onEmail: (email: string) => void
  onStep: (step: StepName) => void
  /** A code is on its way, or was mailed again. */
  onCode: (step: 'confirm' | 'reset', email: string, handle: string | undefined) => void
  onDone: (answer: Answer) => void
}

function StepForm({ step, email, handle, onEmail, onStep, onCode, onDone }: StepFormProps) {
  const { clientId, appName, logo, service, lang, say } = usePage()
  const [problems, setProblems] = useState<Problems>({})
  const [waitSeconds, setWaitSeconds] = useState(0)
  const [isBusy, setBusy] = useState(false)
  const [hasResent, setResent] = useState(false)
  const isReady = useIsHydrated()
  const form = useRef<HTMLFormElement>(null)
  const { fields, title, text, button, path } = steps[step]

  /** Shows the problems and moves the focus to the first wrong field. */
  function complain(found: Problems): void {
    setProblems(found)
    const field = fields.find((name) => found[name])
    if (field) form.current?.querySelector<HTMLInputElement>(`[name=${field}]`)?.focus()
  }

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (isBusy) return
    const values = Object.fromEntries(new FormData(form.current!)) as Values
    const found = findProblems(step, values)
    if (Object.keys(found).length > 0) return complain(found)
    const sent = { email, ...cleanValues(values) }
    onEmail(sent.email)
    setProblems({})
    setBusy(true)
    const { body, failure } = await send(path, { ...sent, ...(step !== 'sign-up' && step !== 'forgot' && { handle }) })
    setBusy(false)
    if (failure) {
      setWaitSeconds(failure.retryAfterSeconds)
      complain(problemsOf(failure))
    } else if (body.next) onCode(body.next, sent.email, body.handle)
    else onDone(body)
  }

  async function resend(): Promise<void> {
    setResent(false)
    const { body, failure } = await send(step === 'reset' ? 'forgot' : 'resend', { email })
    if (failure) {
      setWaitSeconds(failure.retryAfterSeconds)
      complain(problemsOf(failure))
    } else {
      if (body.next) onCode(body.next, email, body.handle)
      setResent(true)
    }
  }

  async function send(path: string, values: Values & { readonly handle?: string | undefined }) {
    const reply = await call<Answer>(`auth/${path}`, null, { clientId, ...values })
    return reply.failure ? { failure: reply.failure } : { body: reply.body }
  }

  const problem = (field: FieldName | 'form') => {
    const key = problems[field]
    return key && say(key, { when: relativeWait(waitSeconds, lang) })
  }
  const to = (next: StepName) => () => onStep(next)
  const hasCode = step === 'confirm' || step === 'reset'

  return (
    <form ref={form} class="stack" noValidate onSubmit={(event) => void submit(event)} aria-busy={isBusy}>
      <div class="sign-in-head">
        {/* The service's mark comes first: it is the service's password that the form asks for. */}
        <div class="marks">
          <AppMark name={service.name} logo={service.logo} />
          <AppMark name={appName} logo={logo} />
        </div>
        <Heading>{say(title)}</Heading>
        <p class="muted">
          <Phrase word={text} values={{ email }} />
        </p>
      </div>
      <div role="alert">
        {problems.form && (
          <Notice tone="bad" icon="alert">
            {problem('form')}
          </Notice>
        )}
      </div>
      {step === 'sign-up' && (
        <div class="pair">
          <Field
            name="firstName"
            label={say('firstName')}
            autoComplete="given-name"
            isName
            maxLength={100}
            problem={problem('firstName')}
          />
          <Field
            name="lastName"
            label={say('lastName')}
            autoComplete="family-name"
            isName
            maxLength={100}
            problem={problem('lastName')}
          />
        </div>
      )}
      {hasCode && <CodeField problem={problem('code')} />}
      {(fields as readonly FieldName[]).includes('email') && <EmailField value={email} problem={problem('email')} />}
      {/* Lets password managers store the new password for this email. */}
      {step === 'reset' && <input type="hidden" name="email" autoComplete="username" value={email} />}
      {(fields as readonly FieldName[]).includes('password') && (
        <PasswordField
          isNew={step === 'login' ? 'no' : step === 'reset' ? 'changed' : 'first'}
          problem={problem('password')}
        />
      )}
      {step === 'login' && (
        <p class="forgot">
          <button type="button" class="link-button" disabled={!isReady} onClick={to('forgot')}>
            {say('forgot')}
          </button>
        </p>
      )}
      <button class="button" disabled={!isReady} aria-disabled={isBusy}>
        {isBusy && <span class="spinner" aria-hidden="true" />}
        {say(button)}
      </button>
      {hasCode && (
        <div class="under" role="status">
          {/* The button stays, because it has the focus. */}
          <button type="button" class="link-button" onClick={() => void resend()}>
            {say('resend')}
          </button>
          {hasResent && <p>{say('resent')}</p>}
        </div>
      )}
      <p class="under muted">
        {step === 'login' && (
          <>
            {say('newHere')}{' '}
            <button type="button" class="link-button" disabled={!isReady} onClick={to('sign-up')}>
              {say('signUp')}
            </button>
          </>
        )}
        {step === 'sign-up' && (
          <>
            {say('haveAccount')}{' '}
            <button type="button" class="link-button" disabled={!isReady} onClick={to('login')}>
              {say('signIn')}
            </button>
          </>
        )}
        {step !== 'login' && step !== 'sign-up' && (
          <button type="button" class="link-button" disabled={!isReady} onClick={to('login')}>
            {say('back')}
          </button>
        )}
      </p>
    </form>
  )
}
