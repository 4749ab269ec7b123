/** People who sign up and in: a service with a clock that can be set, and a page used from an address that can be changed. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newClient } from './client.ts'
import { mailedCode, mailsTo, newEmail, newPage } from './page.ts'
import { newApp, openTestService } from './service.ts'
import { letPass } from './time.ts'

export const password = 'seven tired llamas'
const names = { firstName: 'Ada', lastName: 'Lovelace' }
export const minuteMs = 60_000

export type IdentityRig = Awaited<ReturnType<typeof openIdentityRig>>

let addresses = 0

export async function openIdentityRig() {
  const dataDir = await mkdtemp(join(tmpdir(), 'billfold-identity-'))
  let lateMs = 0
  let address = ''
  const opened = await openTestService({ DATA_DIR: dataDir }, { now: () => new Date(Date.now() + lateMs) })
  const credentials = await newApp(opened.service)
  const client = newClient(opened.app.fetch, credentials)
  const page = newPage((request) => opened.app.fetch(request, address))

  return {
    opened,
    dataDir,
    credentials,
    client,
    page,
    /** Another browser, at the same address as the first one or at another. */
    newBrowser: (at?: string) => newPage((request) => opened.app.fetch(request, at ?? address)),
    /** As if the test had begun that much earlier: what it wrote is that old, and so is what the process counted. */
    setLate: async (ms: number) => {
      await letPass(opened.service.db.pool, ms - lateMs)
      lateMs = ms
    },
    /** Goes to a new address, or back to a known one; returns the one left. */
    move: (to = `10.1.${++addresses >> 8}.${addresses & 255}`) => {
      const left = address
      address = to
      return left
    },
    verify: (linkCode: unknown, app = credentials) => client.post('/api/server/link/verify', { ...app, linkCode }),
    newPerson: () => newPerson(newEmail()),
    close: async () => {
      await opened.close()
      await rm(dataDir, { recursive: true })
    },
  }

  /** Someone with a mailbox, who has not signed up yet. */
  function newPerson(email: string) {
    const who = { clientId: credentials.clientId, email }
    const code = (mails = 1) => mailedCode(email, opened.logged, mails)
    const signUp = (changes: object = {}) => page.auth('sign-up', { ...who, password, ...names, ...changes })
    const confirm = async (mails = 1) => page.auth('confirm', { ...who, code: await code(mails) })
    return {
      email,
      who,
      code,
      signUp,
      confirm,
      mails: (count: number) => mailsTo(email, opened.logged, count),
      logIn: (changes: object = {}) => page.auth('login', { ...who, password, ...changes }),
      newAccount: async () => {
        await signUp()
        return await confirm()
      },
    }
  }
}

export function wrongOf(code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, '0')
}
