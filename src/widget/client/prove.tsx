/** The prompt for the password: it proves on this device that the user is the one whose wallet the app opened. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Ask, AccountForm, useAsking, type Values } from './account/part-form.tsx'
import { call, holdDevice, send, type Failure, type Proof, type WidgetHold } from './call.ts'
import { PasswordField } from './fields.tsx'
import { formatMoney } from './format.ts'
import { Icon } from './icons.tsx'
import { usePage } from './page-context.tsx'
import { ViewHead } from './parts.tsx'
import type { ProofPrompt } from './use-proof.ts'

type ProveProps = {
  prompt: ProofPrompt
  firstName: string
  token: () => string | null
  /** Reads the wallet again; undefined if it could not be read. */
  readProof: () => Promise<Proof | undefined>
  onForgot: () => void
  onLeave: () => void
}

const words = {
  first: { title: 'proveTitle', text: 'proveText', button: 'signIn' },
  ended: { title: 'proveTitle', text: 'proveEnded', button: 'signIn' },
  presence: { title: 'presenceTitle', text: 'presenceText', button: 'continue' },
} as const

export function View({ prompt, firstName, token, readProof, onForgot, onLeave }: ProveProps) {
  const { say } = usePage<'prove'>()
  const { title, text, button } = words[prompt.cause]
  const card = useRef<HTMLDivElement>(null)
  // By script, because browsers ignore autofocus in cross-origin frames. Never while the user is working in the parent page.
  useEffect(() => {
    if (document.hasFocus()) card.current?.querySelector('input')?.focus()
  }, [])

  async function prove({ password = '' }: Values): Promise<Failure | undefined> {
    const failure = await proveOnDevice(password, token, readProof)
    if (!failure) prompt.answer(true)
    return failure
  }

  return (
    <section class="account prove">
      <ViewHead title={say(title)} onBack={() => prompt.answer(false)} />
      <div class="card stack account-part" ref={card}>
        <p id="prove-text">{say(text)}</p>
        <p class="muted">{say('proveFor', { name: firstName })}</p>
        <AccountForm
          button={say(button)}
          labelledBy="prove-text"
          check={({ password = '' }) => ({ password: password === '' ? say('needed') : undefined })}
          send={prove}
          explain={({ code, reason }) => {
            if (code === 'INVALID_CREDENTIALS') return { password: say('passwordWrong') }
            return reason === 'busy' ? { form: say('proveBusy') } : undefined
          }}
        >
          {(problems) => (
            <div aria-live="polite">
              <PasswordField isNew="no" problem={problems['password']} />
            </div>
          )}
        </AccountForm>
        <p class="under">
          <button type="button" class="link-button" onClick={onForgot}>
            {say('forgot')}
          </button>
        </p>
      </div>
      {prompt.hasExits && <Exits token={token} onLeave={onLeave} />}
    </section>
  )
}

type Proved = { readonly deviceToken?: string }

/**
 * As a cookie where the browser keeps one. Where it seems to, but the proof is still `session` afterwards, or where it does not, this
 * page holds the device itself.
 */
async function proveOnDevice(
  password: string,
  token: ProveProps['token'],
  readProof: ProveProps['readProof'],
): Promise<Failure | undefined> {
  for (const keep of keepsCookies() ? (['cookie', 'page'] as const) : (['page'] as const)) {
    const reply = await send<Proved>('account/prove', token(), { password, keep })
    if (reply.failure) return reply.failure
    if (reply.body.deviceToken !== undefined) holdDevice(reply.body.deviceToken)
    const proof = await readProof()
    if (proof === undefined) return { code: 'NO_NETWORK', fields: {}, retryAfterSeconds: 0 }
    if (proof !== 'session') return undefined
  }
  return { code: 'INTERNAL', fields: {}, retryAfterSeconds: 0 }
}

/** Tries a cookie like the device's: a device whose cookie is lost would stay in the user's list for 30 days. */
function keepsCookies(): boolean {
  const name = '__Host-billfold-try'
  const attributes = 'Path=/; Secure; SameSite=None; Partitioned'
  document.cookie = `${name}=1; ${attributes}`
  const isKept = document.cookie.includes(name)
  document.cookie = `${name}=; ${attributes}; Max-Age=0`
  return isKept
}

/** Leaving this app takes power away from it, so it needs no proof. */
function Exits({ token, onLeave }: Pick<ProveProps, 'token' | 'onLeave'>) {
  const { clientId, lang, topup, say } = usePage<'prove'>()
  const [isAsking, setAsking, askButton] = useAsking()
  const [held, setHeld] = useState(0)

  async function ask(): Promise<void> {
    setAsking(true)
    const { body } = { body: undefined, ...(await send<{ holds: readonly WidgetHold[] }>('holds', token())) }
    const own = (body?.holds ?? []).filter(({ app }) => app?.clientId === clientId)
    setHeld(own.reduce((sum, { remaining }) => sum + remaining, 0))
  }

  async function disconnect(): Promise<Failure | undefined> {
    const { failure } = await call('links/disconnect', token(), { clientId })
    if (!failure) onLeave()
    return failure
  }

  if (isAsking)
    return (
      <Ask
        title={say('disconnectAsk')}
        text={say('disconnectText')}
        more={held > 0 && say('disconnectHeld', { amount: formatMoney(held, topup.currency, lang) })}
        button={say('disconnect')}
        onYes={disconnect}
        onNo={() => setAsking(false)}
      />
    )
  return (
    <div class="account-exits">
      <button type="button" class="button quiet" onClick={onLeave}>
        <Icon name="door" />
        {say('signOut')}
      </button>
      <p class="muted">{say('logOutText')}</p>
      <button type="button" class="button quiet" ref={askButton} onClick={() => void ask()}>
        <Icon name="swap" />
        {say('disconnectApp')}
      </button>
    </div>
  )
}
