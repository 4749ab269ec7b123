/** Sign-in with the company's own account: real browser, real processes, a real provider on another site. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { callbackPath } from '../../src/actions/operators/oidc/provider.ts'
import { openDatabase } from '../../src/store/connection/database.ts'
import { callCommand } from '../command.ts'
import { eventually } from '../eventually.ts'
import { mailsTo } from '../mailbox.ts'
import { startOidcProvider } from '../oidc-provider.ts'
import { startProcess } from '../process.ts'
import { findPageBarriers, startRig, type Rig } from './rig.ts'

let rig: Rig
let dataDir: string
let provider: Awaited<ReturnType<typeof startOidcProvider>>

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-oidc-'))
  // For a native client the provider ignores the port of an address of this machine.
  const redirectUri = `http://127.0.0.1${callbackPath}`
  provider = await startOidcProvider({ id: 'billfold', secret: 'the provider & us', redirectUri })
  rig = await startRig(async () => ({
    DATA_DIR: dataDir,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: 'billfold',
    OIDC_CLIENT_SECRET: 'the provider & us',
    OIDC_NAME: 'Acme',
    OIDC_ROLES: 'admin=groups:wallet-admins, viewer=groups:staff',
  }))
})
afterAll(async () => {
  await rig.stop()
  await provider.close()
  await rm(dataDir, { recursive: true })
})

const button = (page: Page, name: string) => page.getByRole('button', { name })
const barriers = async (page: Page, name: string) => expect(await findPageBarriers(page, name)).toEqual([])

/** The provider's own pages: sign in, then agree. */
async function signInThere(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(name)
  await page.getByPlaceholder('and password').fill('any')
  await button(page, 'Sign-in').click()
  await button(page, 'Continue').click()
}

test('OIDC_ONLY is refused at the start and by the doctor while no admin has a second factor', async () => {
  const environment = { ...rig.environment, OIDC_ONLY: '1' }
  const said = await startProcess(environment).then(
    () => 'it started',
    (error: Error) => error.message,
  )
  expect(said).toContain('OIDC_ONLY: no active admin has a password and a second factor')
  const { stdout, exitCode } = await callCommand(['doctor'], environment)
  expect([exitCode, stdout.includes('Admin area: OIDC_ONLY: no active admin')]).toEqual([1, true])
  expect(stdout).toContain(`Identity provider: ${provider.issuer} answers`)
})

test('a person signs in with the account of the company, and the page that was asked for opens', async () => {
  const page = await rig.openPage()
  await page.goto(`${rig.base}/admin/operators`)
  await button(page, 'Continue with Acme').waitFor()
  await barriers(page, 'sign-in-with-oidc')
  await button(page, 'Continue with Acme').click()
  await signInThere(page, 'admin-eve')
  await page.getByRole('heading', { name: 'Operators' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/admin/operators')
  await page.getByText('admin-eve@acme.example').first().waitFor()
  await page.goto(`${rig.base}/admin/account`)
  await page.getByText('this account is your only way to sign in').waitFor()
  await barriers(page, 'account-with-oidc')
  await page.context().close()
})

test('a staff member is a viewer', async () => {
  const page = await rig.openPage()
  await page.goto(`${rig.base}/admin`)
  await button(page, 'Continue with Acme').click()
  await signInThere(page, 'staff-sam')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(`${rig.base}/admin/client-apps/new`)
  await page.getByText('Your role is viewer').waitFor()
  await page.context().close()
})

test('a local admin connects the account, and with OIDC_ONLY the password is for emergencies, which every admin is mailed about', async () => {
  const page = await rig.openPage()
  await rig.signInByPages(page)
  await page.goto(`${rig.base}/admin/account`)
  const card = page.locator('section', { hasText: 'Sign-in with Acme' })
  await card.getByLabel('Your password').fill('correct horse battery staple')
  await button(page, 'Connect it').click()
  await signInThere(page, 'admin-ada')
  await page.getByText('The account is connected.').waitFor()
  await page.context().close()

  const only = await startProcess({ ...rig.environment, OIDC_ONLY: '1' })
  const emergency = await rig.openPage()
  await emergency.goto(`${only.url}/admin`)
  await barriers(emergency, 'sign-in-oidc-only')
  expect(await emergency.getByLabel('Email').isVisible()).toBe(false)
  // A code counts once; without this the test would wait half a minute for the next one.
  const db = openDatabase({ connectionString: rig.databaseUrl }, 1)
  await db.pool.query('update operators set totp_step = totp_step - 2 where totp_step > 0')
  await db.pool.end()
  await rig.signInByPages(emergency, only.url)
  const about = 'An admin signed in with a password'
  const mails = async () =>
    (await mailsTo({ config: { dataDir } } as Parameters<typeof mailsTo>[0], 'ada@example.com')).filter((mail) =>
      mail.includes(about),
    ).length
  await eventually(mails, 1)
  const metrics = await (await fetch(`${only.url}/metrics`)).text()
  expect(metrics).toContain('billfold_emergency_sign_ins_total 1')
  await emergency.context().close()
  await only.stop()
})
