/** The page sends another person's session into a used frame: nothing of the first person may remain. */
import { expect } from 'bun:test'
import type { Frame, Page } from '@playwright/test'
import { createSession } from '../../src/actions/people/open-session.ts'
import { transact } from '../../src/store/connection/database.ts'
import { getOrInsertLink } from '../../src/store/links.ts'
import { insertUser } from '../../src/store/people/users.ts'
import { newId, newServiceUserId } from '../../src/actions/tokens.ts'
import { until, untilSeen } from '../until.ts'
import { embed, type Rig } from './rig.ts'
import { renew } from './shop.ts'

/** The markup and the field values of the document. Times are left out, because they differ. */
const shownIn = (frame: Frame) =>
  frame.evaluate(() => {
    const root = document.getElementById('root')!.cloneNode(true) as HTMLElement
    for (const time of root.querySelectorAll('time')) time.remove()
    const inputs = [...document.querySelectorAll('input')]
    const typed = inputs.map(({ name, value, checked, type }) => (type === 'radio' ? [value, checked] : [name, value]))
    // These attributes depend on whether the server or the script wrote them, and session tokens always differ.
    const html = root.innerHTML.replace(/ (style|class|checked)="[^"]*"/g, '').replace(/ws_[0-9a-f-]{36}/g, 'ws_')
    return JSON.stringify([location.pathname, html, typed])
  })

const hasTaken = async (frame: Frame, session: string) => {
  await until(frame, (session) => (history.state as { session?: string } | null)?.session === session, session)
  // The wallet, or a top-up that names the person whose wallet it fills.
  await untilSeen(frame, '.hero-balance .visually-hidden, .topup-head bdi')
}

/** The content of new frames of other persons, by the app's name and the parameters of the address besides app and session. */
const shownBefore = new Map<string, Set<string>>()

/** After the switch the frame shows exactly the content of a new frame of the other person. */
export async function expectNothingStays(rig: Rig, page: Page, used: Frame): Promise<void> {
  const url = new URL(used.url())
  const clientId = url.searchParams.get('clientId')!
  const newSession = await createAnotherPerson(rig, clientId)
  const session = await newSession()
  await renew(rig, page, session)
  await hasTaken(used, session)
  url.searchParams.delete('session')
  const { name } = (await rig.service.apps.find(clientId))!
  const key = `${name} ${url.href.replace(clientId, '')}`
  const known = shownBefore.get(key) ?? new Set()
  shownBefore.set(key, known)
  if (await isSoon(async () => known.has(await shownIn(used)), known.size > 0 ? 500 : 0)) return
  const fresh = await newSession()
  url.searchParams.set('session', fresh)
  const another = await embed(page, url.href)
  await hasTaken(another, fresh)
  let expected = ''
  let shown = ''
  await isSoon(async () => {
    ;[expected, shown] = [await shownIn(another), await shownIn(used)]
    return shown === expected
  }, 30_000)
  expect(shown).toBe(expected)
  known.add(expected)
}

async function isSoon(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  for (const endsAt = Date.now() + withinMs; Date.now() < endsAt; await Bun.sleep(50)) if (await isSo()) return true
  return false
}

async function createAnotherPerson(rig: Rig, clientId: string): Promise<() => Promise<string>> {
  const { service } = rig
  const userId = newId()
  const link = await transact(service.db, async (tx) => {
    const person = { id: userId, email: `${userId}@example.com`, firstName: 'Grace', lastName: 'Hopper' }
    await insertUser(tx, { ...person, passwordHash: null })
    return await getOrInsertLink(tx, { id: newServiceUserId(), clientId, userId })
  })
  const app = (await service.apps.find(clientId))!
  return async () => {
    const created = await createSession(service, app, { serviceUserId: link.id, parentOrigin: null })
    if (created.kind !== 'created') throw new Error(created.kind)
    return created.sessionToken
  }
}
