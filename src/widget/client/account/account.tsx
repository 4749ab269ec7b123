/** The account view: a list of parts, each of which opens as a separate view, and the logout button. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { History, SignedIn } from './access.tsx'
import { Apps } from './connected-apps.tsx'
import { Data, Delete } from './deletion.tsx'
import { Loaded, StatusNotice, type Load } from './part-form.tsx'
import { Email, Languages, Names, Password } from './profile.tsx'
import { Mails } from './mail-choices.tsx'
import { languageName } from '../../../languages/language-name.ts'
import { call } from '../call.ts'
import { addIcons, Icon, type IconName } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { useIsMounted, ViewHead } from '../parts.tsx'

addIcons({
  mail: 'M3 6h18v12H3zM3 7l9 7 9-7',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  globe: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c4 4 4 14 0 18-4-4-4-14 0-18',
  device: 'M5 5h14v10H5zM2 19h20',
})

export type AccountInfo = {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly language: string | null
  readonly hasPassword: boolean
  readonly keptReason: string | null
}

type AccountProps = {
  token: string | null
  skewMs: number
  currency: string
  /** The open part; undefined for the list of parts. */
  part: string | undefined
  onPart: (part: string) => void
  /** Returns to the list of parts, or from there to the wallet. */
  onBack: () => void
  onHome: () => void
  onLeave: () => void
  /** The names or the language may have changed. */
  onChanged: () => void
  onLanguage: (lang: string) => Promise<void>
  /** “$18.00 on hold”, which opens the list of it. */
  held: string
  onHolds: () => void
}

/** The props of every part; `onDone` returns to the account view, which shows the message. */
export type PartProps = Pick<AccountProps, 'token' | 'skewMs' | 'onLeave'> & {
  onDone: (message: string) => void
  /** This device has ended: only the wallet itself can still be shown. */
  onDeviceEnded: () => void
}

const parts = {
  name: { title: 'name', icon: 'person' },
  email: { title: 'email', icon: 'mail' },
  password: { title: 'password', icon: 'lock' },
  language: { title: 'language', icon: 'globe' },
  mails: { title: 'mails', icon: 'bell' },
  signedIn: { title: 'signedIn', icon: 'shield' },
  apps: { title: 'apps', icon: 'card' },
  history: { title: 'history', icon: 'clock' },
  data: { title: 'myData', icon: 'receipt' },
  delete: { title: 'deleteAccount', icon: 'alert' },
} as const satisfies Record<string, { title: string; icon: IconName }>

type PartName = keyof typeof parts

function isPart(name: string | undefined): name is PartName {
  return name !== undefined && Object.hasOwn(parts, name)
}

const groups: readonly (readonly PartName[])[] = [
  ['name', 'email', 'password', 'language', 'mails'],
  ['apps', 'signedIn', 'history'],
  ['data', 'delete'],
]

export function View(props: AccountProps) {
  const { lang, say } = usePage<'account'>()
  const { token, onPart, onBack, onHome, onChanged } = props
  const part = isPart(props.part) ? props.part : undefined
  const [load, setLoad] = useState<Load<AccountInfo>>({ kind: 'loading' })
  const [message, setMessage] = useState('')
  const last = useRef<PartName>(undefined)
  const shown = useRef(part)
  shown.current = part
  const home = useRef<HTMLElement>(null)
  const isMounted = useIsMounted()

  async function loadAccount(): Promise<void> {
    const reply = await call<AccountInfo>('account', token)
    if (isMounted()) setLoad(reply.failure ? { kind: 'failed' } : { kind: 'there', value: reply.body })
  }
  useEffect(() => void loadAccount(), [])

  // After a part closes, the focus returns to its row.
  useEffect(() => {
    if (part !== undefined) {
      last.current = part
      setMessage('')
    } else if (last.current) home.current?.querySelector<HTMLButtonElement>(`[data-part=${last.current}]`)?.focus()
  }, [part])

  async function finish(text: string): Promise<void> {
    onChanged()
    await loadAccount()
    if (!isMounted()) return
    setMessage(text)
    // The user may have left the part already.
    if (shown.current === part) onBack()
  }

  if (part !== undefined)
    return (
      <section key={part} class="account">
        <ViewHead title={say(parts[part].title)} onBack={onBack} />
        <div class="card stack account-part">
          <Loaded load={load} onRetry={() => void loadAccount()}>
            {(info) => (
              <Part
                {...props}
                name={part}
                info={info}
                onDone={(text) => void finish(text)}
                onDeviceEnded={() => {
                  onHome()
                  onChanged()
                }}
              />
            )}
          </Loaded>
        </div>
      </section>
    )
  const info = load.kind === 'there' ? load.value : undefined
  return (
    <section key="home" class="account" ref={home}>
      <ViewHead title={say('account')} onBack={onBack} />
      <StatusNotice text={message} />
      {groups.map((group) => (
        <ul key={group[0]} role="list" class="card account-rows">
          {group.map((name) => (
            <Row key={name} name={name} value={info && rowValues[name]?.(info, lang)} onOpen={() => onPart(name)} />
          ))}
        </ul>
      ))}
      <div class="account-exits">
        <button type="button" class="button quiet" onClick={props.onLeave}>
          <Icon name="door" />
          {say('signOut')}
        </button>
        <p class="muted">{say('logOutText')}</p>
      </div>
    </section>
  )
}

const rowValues: Partial<Record<PartName, (info: AccountInfo, shownLanguage: string) => string>> = {
  name: ({ firstName, lastName }) => `${firstName} ${lastName}`.trim(),
  email: ({ email }) => email,
  language: ({ language }, shownLanguage) => languageName(language ?? shownLanguage),
}

type RowProps = { name: PartName; value: string | undefined; onOpen: () => void }

function Row({ name, value, onOpen }: RowProps) {
  const { say } = usePage<'account'>()
  const { title, icon } = parts[name]
  return (
    <li>
      <button
        type="button"
        class={name === 'delete' ? 'account-row bad' : 'account-row'}
        data-part={name}
        onClick={onOpen}
      >
        <Icon name={icon} />
        <span class="account-row-text">
          <span class="account-row-title">{say(title)}</span>
          {value ? (
            <span class="muted account-row-value">
              <bdi>{value}</bdi>
            </span>
          ) : (
            // The line is there before the value, so that no row moves under the pointer when the account arrives.
            rowValues[name] && <span class="account-row-value">&nbsp;</span>
          )}
        </span>
      </button>
    </li>
  )
}

type PartViewProps = AccountProps & PartProps & { name: PartName; info: AccountInfo }

function Part({ name, ...props }: PartViewProps) {
  switch (name) {
    case 'name':
      return <Names {...props} />
    case 'email':
      return <Email {...props} />
    case 'password':
      return <Password {...props} />
    case 'language':
      return <Languages {...props} />
    case 'mails':
      return <Mails {...props} />
    case 'apps':
      return <Apps {...props} />
    case 'signedIn':
      return <SignedIn {...props} />
    case 'history':
      return <History {...props} />
    case 'data':
      return <Data />
    case 'delete':
      return <Delete {...props} />
    default:
      return name satisfies never
  }
}
