/** The apps that use the wallet: their permissions, their sums of this month, and a button to disconnect. */
import type { LinkedApp } from '../call.ts'
import { formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import type { PartProps } from './account.tsx'
import { AppList } from './app-list.tsx'

export function Apps({ token, skewMs, currency, onLeave }: PartProps & { currency: string }) {
  const { lang, say } = usePage<'account'>()
  return (
    <>
      <p class="muted">{say('appsText')}</p>
      <AppList
        token={token}
        skewMs={skewMs}
        onLeave={onLeave}
        label={say('apps')}
        paths={{ read: 'links', leave: 'links/disconnect' }}
        appsOf={({ links }: { links: LinkedApp[] }) => links}
        button={say('disconnect')}
        textsOf={({ appName: app, held }) => ({
          title: say('disconnectAsk', { app }),
          text: say('disconnectText', { app }),
          more: held > 0 && say('disconnectHeld', { app, amount: formatMoney(held, currency, lang) }),
          label: say('disconnectApp', { app }),
          done: say('disconnected', { app }),
        })}
        sinceOf={({ connectedAt }) => ({ at: connectedAt, say: (date) => say('connected', { date }) })}
      >
        {(app) => <Permissions app={app} currency={currency} />}
      </AppList>
    </>
  )
}

function Permissions({ app: { month, scopes }, currency }: { app: LinkedApp; currency: string }) {
  const { lang, say } = usePage<'account'>()
  const amount = (value: number) => ({ amount: formatMoney(value, currency, lang) })
  return (
    <ul role="list" class="may">
      {scopes.includes('wallet:read') && <li>{say('mayRead')}</li>}
      {scopes.includes('wallet:write') && <li>{say('mayWrite')}</li>}
      {scopes.length === 0 && <li>{say('mayNothing')}</li>}
      <li class="may-month parts">
        <span>
          {month.debited === 0 && !month.isCut
            ? say('monthNothing')
            : say(month.isCut ? 'monthMore' : 'month', amount(month.debited))}
        </span>
        {month.credited > 0 && <span>{say('monthBack', amount(month.credited))}</span>}
      </li>
    </ul>
  )
}
