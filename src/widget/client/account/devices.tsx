/** The devices where the user gave the password. Each can be signed out, for example after it was lost. */
import { useRef, useState } from 'preact/hooks'
import { call, type Failure } from '../call.ts'
import { exactTime } from '../format.ts'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import type { PartProps } from './account.tsx'
import { useAgo } from './app-list.tsx'
import { useBrowserName } from './use-browser-name.ts'
import { Ask, StatusNotice, useAsking } from './part-form.tsx'

export type Device = {
  readonly id: string
  readonly appName: string
  readonly browser: string | null
  readonly since: string
  readonly lastAt: string | null
  readonly isThis: boolean
  readonly isThisNetwork: boolean
}

type DevicesProps = Pick<PartProps, 'token' | 'skewMs'> & {
  devices: readonly Device[]
  onEnded: (device: Device) => Promise<void>
}

export function Devices({ devices, token, skewMs, onEnded }: DevicesProps) {
  const { say } = usePage<'account'>()
  const browserName = useBrowserName()
  const [message, setMessage] = useState('')
  const list = useRef<HTMLUListElement>(null)

  async function end(device: Device): Promise<Failure | undefined> {
    const { failure } = await call('account/sign-out-device', token, { deviceId: device.id })
    if (failure) return failure
    setMessage(say('deviceEnded', { browser: browserName(device.browser) }))
    await onEnded(device)
    list.current?.focus()
    return undefined
  }

  return (
    <>
      <h2>{say('devices')}</h2>
      <p class="muted">{say('devicesText')}</p>
      <StatusNotice text={message} />
      <ul role="list" ref={list} tabIndex={-1} aria-label={say('devices')}>
        {devices.map((device) => (
          <Entry key={device.id} device={device} skewMs={skewMs} onEnd={() => end(device)} />
        ))}
      </ul>
    </>
  )
}

type EntryProps = { device: Device; skewMs: number; onEnd: () => Promise<Failure | undefined> }

function Entry({ device, skewMs, onEnd }: EntryProps) {
  const { lang, say } = usePage<'account'>()
  const ago = useAgo(skewMs)
  const browser = useBrowserName()(device.browser)
  const [isAsking, setAsking, askButton] = useAsking()
  if (isAsking)
    return (
      <li>
        <Ask
          title={say('endDeviceAsk', { browser })}
          text={say('endDeviceText')}
          button={say('signOut')}
          onYes={onEnd}
          onNo={() => setAsking(false)}
        />
      </li>
    )
  const details = [
    device.lastAt !== null && say('lastUsed', { date: ago(device.lastAt) }),
    say(device.isThisNetwork ? 'sameNetwork' : 'otherNetwork'),
  ].filter((text) => text !== false)
  return (
    <li class="entry">
      <span class="entry-icon">
        <Icon name="device" />
      </span>
      <div class="entry-text">
        <span class="entry-title">
          {browser} {device.isThis && <span class="badge good">{say('thisDevice')}</span>}
        </span>
        <time class="entry-when" dateTime={device.since} title={exactTime(new Date(device.since), lang)}>
          {say('deviceSince', { date: ago(device.since), app: device.appName })}
        </time>
      </div>
      <button
        type="button"
        class="button quiet small"
        ref={askButton}
        aria-label={say('endDevice', { browser })}
        onClick={() => setAsking(true)}
      >
        {say('signOut')}
      </button>
      <p class="may">
        <span class="parts">
          {details.map((text) => (
            <span key={text}>{text}</span>
          ))}
        </span>
      </p>
    </li>
  )
}
