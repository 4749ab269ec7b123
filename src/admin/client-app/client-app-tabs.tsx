/** The head of every page about one client app: its name, and tabs with an address each. */
import type { ComponentChildren } from 'preact'
import type { App } from '../../store/apps.ts'
import { Copy, Heading } from '../kit/parts.tsx'
import { AppState } from '../kit/states.tsx'

const tabs = {
  overview: ['Overview', ''],
  settings: ['Settings', '/settings'],
  secrets: ['Secrets', '/secrets'],
  events: ['Events', '/events'],
  settlements: ['Settlements', '/settlements'],
  calls: ['Calls and errors', '/calls'],
} as const

type TabName = keyof typeof tabs

export function tabPath(clientId: string, tab: TabName = 'overview'): string {
  return `/admin/client-apps/${clientId}${tabs[tab][1]}`
}

export function AppHead({ app, here, children }: { app: App; here: TabName; children?: ComponentChildren }) {
  return (
    <>
      <Heading
        title={
          <>
            {app.name} <AppState app={app} />
          </>
        }
        sub={<Copy label="clientId" text={app.clientId} />}
      >
        {children}
      </Heading>
      <nav class="tabs" aria-label="The app">
        {Object.entries(tabs).map(([name, [label]]) => (
          <a key={name} href={tabPath(app.clientId, name as TabName)} aria-current={name === here ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
    </>
  )
}
