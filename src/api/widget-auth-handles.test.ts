import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { minuteMs, openIdentityRig, password, wrongOf, type IdentityRig } from '../../test/identity-rig.ts'
import { mailedCode, newEmail, newPage, type Page } from '../../test/page.ts'
import { passwordCounts } from '../actions/people/passwords.ts'
import { closeService, openService, type Service } from '../actions/service.ts'
import { newId } from '../actions/tokens.ts'
import { buildApp } from '../app.ts'
import { openLog } from '../platform/log.ts'
import { openMetrics } from '../platform/metrics.ts'
import { openDatabase } from '../store/connection/database.ts'

// Passwords are slow to check on purpose, and slower on a busy machine.
setDefaultTimeout(240_000)

const newPassword = 'nine lazy otters'
const forgedHandle = `ch_${'x'.repeat(32)}`

let rig: IdentityRig
let person: ReturnType<IdentityRig['newPerson']>
/** Another process on the same database. */
let otherProcess: { readonly service: Service; readonly page: Page }

beforeAll(async () => {
  rig = await openIdentityRig()
  const { config, now, passwordCost, db } = rig.opened.service
  const log = openLog('debug', (text) => rig.opened.logged.push(text))
  const parts = { config, db: openDatabase(db.connection), log, metrics: openMetrics(), now, passwordCost }
  const service = openService(parts)
  const { fetch } = buildApp(service)
  otherProcess = { service, page: newPage((request) => fetch(request, '10.3.0.1')) }
})
beforeEach(async () => {
  await rig.setLate(0)
  rig.move()
  person = rig.newPerson()
})
afterAll(async () => {
  await closeService(otherProcess.service)
  await otherProcess.service.db.pool.end()
  await rig.close()
})

const guess = (page: Page, step: 'confirm' | 'reset', code: string, more: object = {}) =>
  page.auth(step, { ...person.who, code, ...(step === 'reset' && { password: newPassword }), ...more })

/** The owner asks for a code; returns the step that takes it, and the code. */
async function askForCode(step: 'confirm' | 'reset'): Promise<string> {
  if (step === 'confirm') {
    await person.signUp()
    return await person.code()
  }
  await person.newAccount()
  await rig.page.auth('forgot', person.who)
  return await person.code(2)
}

describe.each(['confirm', 'reset'] as const)('the step %s', (step) => {
  test.each(['the same address', 'another address'])(
    `a stranger at %s who asks for codes and enters wrong ones does not end the owner’s code of the step ${step}`,
    async (where) => {
      const right = await askForCode(step)
      const stranger = rig.newBrowser(where === 'another address' ? '10.9.0.1' : undefined)
      for (let i = 0; i < 2; i++) {
        const asked = await stranger.auth(step === 'confirm' ? 'resend' : 'forgot', person.who)
        expect(asked.status).toBe(202)
        for (let tries = 0; tries < 6; tries++)
          expect((await guess(stranger, step, wrongOf(right))).body['code']).toBe('INVALID_CODE')
      }
      for (let tries = 0; tries < 60; tries++) {
        const { status, body } = await guess(stranger, step, wrongOf(right), { handle: forgedHandle })
        expect([status, body['code']]).toEqual([400, 'INVALID_CODE'])
      }
      expect((await guess(rig.page, step, right)).status).toBe(200)
    },
  )

  test(`the right code of the step ${step} is wrong in another browser`, async () => {
    const right = await askForCode(step)
    const stranger = rig.newBrowser()
    await stranger.auth(step === 'confirm' ? 'resend' : 'forgot', person.who)
    expect((await guess(stranger, step, right)).body['code']).toBe('INVALID_CODE')
    expect((await guess(stranger, step, right, { handle: forgedHandle })).body['code']).toBe('INVALID_CODE')
    expect((await guess(rig.page, step, right)).status).toBe(200)
  })

  test(`in two processes a handle of the step ${step} has five attempts together, and the code works in either`, async () => {
    const right = await askForCode(step)
    const { handle } = (await otherProcess.page.auth(step === 'confirm' ? 'resend' : 'forgot', person.who)).body
    const second = await person.code(step === 'confirm' ? 2 : 3)
    for (const page of [rig.page, otherProcess.page, rig.page, otherProcess.page, rig.page])
      await guess(page, step, wrongOf(second), { handle })
    for (const page of [rig.page, otherProcess.page])
      expect((await guess(page, step, second, { handle })).body['code']).toBe('INVALID_CODE')
    const own = (await rig.page.auth(step === 'confirm' ? 'resend' : 'forgot', person.who)).body['handle']
    const third = await person.code(step === 'confirm' ? 3 : 4)
    expect(own).not.toBe(handle)
    expect((await guess(otherProcess.page, step, right === third ? right : third, { handle: own })).status).toBe(200)
  })
})

test('a handle of one email does not take the code of another email, and its own code still works after that', async () => {
  await person.signUp()
  const right = await person.code()
  const email = newEmail()
  const { body } = await person.signUp({ email })
  const otherCode = await mailedCode(email, rig.opened.logged)
  // One time in a million both codes are equal.
  if (otherCode === right) return
  for (const mixed of [
    { ...person.who, code: right, handle: body['handle'] },
    { ...person.who, email, code: right, handle: body['handle'] },
    { ...person.who, code: otherCode },
    { ...person.who, code: otherCode, handle: body['handle'] },
  ])
    expect((await rig.page.auth('confirm', mixed)).body['code']).toBe('INVALID_CODE')
  expect((await person.confirm()).status).toBe(200)
  expect((await rig.page.auth('confirm', { ...person.who, email, code: otherCode })).status).toBe(200)
})

test('a used code ends the other codes of the email, and of two used at once one works', async () => {
  await person.newAccount()
  const [first, second] = [rig.newBrowser(), rig.newBrowser()]
  await first.auth('forgot', person.who)
  const codes = [await person.code(2)]
  await second.auth('forgot', person.who)
  codes.push(await person.code(3))
  const replies = await Promise.all([guess(first, 'reset', codes[0]!), guess(second, 'reset', codes[1]!)])
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
  for (const [index, page] of [first, second].entries())
    expect((await guess(page, 'reset', codes[index]!)).body['code']).toBe('INVALID_CODE')
})

test('an unconfirmed sign-up that signs in from another browser gets a code for that browser', async () => {
  await person.signUp()
  const first = await person.code()
  const other = rig.newBrowser()
  const signedIn = await other.auth('login', { ...person.who, password })
  expect([signedIn.status, signedIn.body]).toEqual([202, { next: 'confirm', handle: expect.any(String) }])
  const second = await person.code(2)
  if (first !== second) expect((await guess(other, 'confirm', first)).body['code']).toBe('INVALID_CODE')
  expect((await guess(other, 'confirm', second)).status).toBe(200)
})

test('an unconfirmed sign-up that signs in too often from new browsers has to wait', async () => {
  await person.signUp()
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push((await rig.newBrowser().auth('login', { ...person.who, password })).status)
  expect(statuses).toEqual([202, 202, 202, 429])
})

test('all browsers and addresses together have 150 guesses a day at the codes of one email, and the owner signs in after them', async () => {
  await person.newAccount()
  const home = rig.move()
  let guesses = 0
  let mails = 0
  for (let hour = 0; hour < 4; hour++) {
    await rig.setLate(hour * 61 * minuteMs)
    for (let i = 0; i < 11; i++) {
      rig.move()
      const browser = rig.newBrowser()
      if ((await browser.auth('forgot', person.who)).status !== 202) continue
      mails++
      const before = passwordCounts().started
      // At once, so that an attempt that is not counted before it is compared would be seen.
      await Promise.all(Array.from({ length: 8 }, () => guess(browser, 'reset', '000000')))
      guesses += passwordCounts().started - before
    }
  }
  // The sign-up took one of the thirty mails of the day.
  expect([mails, guesses]).toEqual([29, 145])
  rig.move(home)
  const asked = await rig.page.auth('forgot', person.who)
  expect(asked.status).toBe(202)
  expect((await guess(rig.page, 'reset', await person.code(31))).status).toBe(200)
})

test('a process of the previous release keeps its own codes on the migrated database', async () => {
  const { pool } = rig.opened.service.db
  const upsert = `insert into mailed_codes (email, purpose, id, code_hash, expires_at)
    values ($1, 'reset', $2, 'x', now() + interval '1 minute')
    on conflict (email, purpose) do update set id = excluded.id, tries = 0`
  for (let i = 0; i < 2; i++) await pool.query(upsert, [person.email, newId()])
  const { rowCount } = await pool.query('update mailed_codes set tries = tries + 1 where email = $1', [person.email])
  expect(rowCount).toBe(1)
  // Its answer has no handle: the page of this release then sends none.
  const { status, body } = await rig.page.auth('reset', { ...person.who, code: '000000', password: newPassword })
  expect([status, Object.keys(body['fields'] as object)]).toEqual([400, ['handle']])
})
