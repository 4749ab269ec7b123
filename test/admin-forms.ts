/** Every form of the admin area, with valid input and the operator who sends it. */
import { generateSync } from 'otplib'
import { startSession } from '../src/actions/operators/manage-sessions.ts'
import { totpContext } from '../src/actions/operators/second-factor.ts'
import { settleApp } from '../src/actions/apps/settle-app.ts'
import { placeHold } from '../src/actions/money/manage-holds.ts'
import { postForApp } from '../src/actions/money/post.ts'
import { askCorrection } from '../src/actions/money/correct-wallet.ts'
import { askDeletion } from '../src/actions/people/request-deletion.ts'
import { newId } from '../src/actions/tokens.ts'
import { addEndpoint } from '../src/actions/webhooks/manage-endpoints.ts'
import { numberEvents } from '../src/store/events/number-events.ts'
import type { Stage } from '../src/store/operator-access/operator-sessions.ts'
import type { Role } from '../src/store/operators.ts'
import { holdIdOf } from '../src/store/outcomes.ts'
import { transact } from '../src/store/connection/database.ts'
import { insertChange } from '../src/store/operator-access/operator-changes.ts'
import { mailedLink } from './mailbox.ts'
import { newOperator, newVisitor, password, type TestOperator, type Visitor } from './operator.ts'
import { postInJanuary } from './january.ts'
import { newAppWithEvents } from './events/rig.ts'
import { newApp, newUser, operator } from './service.ts'
import type { Bench } from './topup/rig.ts'

/** Prepared before the form is sent, so that the preparation is not recorded. Without `by` the admin sends it. */
type Call = { readonly path?: Record<string, string>; readonly fields?: Record<string, string>; readonly by?: Someone }
type Someone = Visitor & { readonly actor: string }

/** `role` is the role of the operator who sends a form about their own account. */
export type Form = { readonly isRead?: true; readonly make: (role?: Role) => Promise<Call> }

const newEmail = () => `${crypto.randomUUID()}@example.com`
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const codeNow = () => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) })
const receiver = 'https://shop.example/webhooks'
const reason = { reason: 'as agreed' }
const correction = { ...reason, amount: '5', direction: 'credit', account: 'adjustments', transaction: '' }
const appFields = { name: 'Another shop', allowedOrigins: 'https://b.example', scopes: 'wallet:read' }

export type AdminForms = ReturnType<typeof adminForms>

export function adminForms(bench: Bench, admin: TestOperator) {
  const query = async <T>(sql: string, values: unknown[] = []) =>
    (await bench.service.db.pool.query(sql, values)).rows as T[]

  async function signedIn(stage: Stage, role: Role = 'viewer'): Promise<Someone & { id: string }> {
    const other = await newOperator(bench.opened, role)
    const device = { address: '127.0.0.1', browser: 'Test' }
    const token = await startSession(bench.service, bench.service.db.pool, other.id, stage, device)
    const visitor = newVisitor(bench.app, new Map([['billfold-session', token]]))
    return { ...visitor, id: other.id, actor: `operator:${other.id}` }
  }

  async function appWithEvents(): Promise<{ clientId: string }> {
    const { clientId } = await newAppWithEvents(bench.service)
    await numberEvents(bench.service.db)
    return { clientId }
  }

  /** It has had the event that switching events on records. */
  async function endpoint(): Promise<{ clientId: string; id: string }> {
    const { clientId } = await appWithEvents()
    const added = await addEndpoint(bench.service, operator, clientId, { url: receiver, types: null })
    if (added.kind !== 'added') throw new Error(added.kind)
    return { clientId, id: added.id }
  }

  async function stranger(actor: string): Promise<Someone> {
    const visitor = newVisitor(bench.app)
    await visitor.get('/admin/sign-in')
    return { ...visitor, actor }
  }

  async function giveSecret(column: 'totp_secret' | 'totp_pending', id: string): Promise<void> {
    const sealed = await bench.service.secrets.seal(secret, totpContext({ id }))
    await query(
      `update operators set ${column} = $2, totp_pending_until = now() + interval '5 minutes' where id = $1`,
      [id, sealed],
    )
  }

  /** A day that is over, of a deployment that started before it. */
  async function readableDay(): Promise<string> {
    await query(`update billfold_migrations set applied_at = least(applied_at, now() - interval '30 days')`)
    return new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10)
  }

  const clientApp = async () => ({ path: { clientId: (await newApp(bench.service)).clientId } })
  const wallet = async () => ({ path: { id: (await newUser(bench.service, bench.credentials)).userId } })

  async function topup(): Promise<Record<string, string>> {
    const payer = await bench.newPayer()
    const payment = await payer.begin(25)
    bench.standIn.state.pay(payment)
    await payer.confirm(payment)
    return { id: (await bench.topup(payment)).id }
  }

  const forms: Record<string, Form> = {
    '/admin/sign-in': {
      make: async () => {
        const { id, email } = await newOperator(bench.opened)
        return { by: await stranger(`operator:${id}`), fields: { email, password } }
      },
    },
    '/admin/sign-in/code': {
      make: async () => {
        const by = await signedIn('code')
        await giveSecret('totp_secret', by.id)
        return { by, fields: { code: codeNow() } }
      },
    },
    '/admin/sign-in/oidc': { isRead: true, make: async () => ({ by: await stranger('') }) },
    '/admin/welcome/oidc': { isRead: true, make: async () => ({ by: await stranger(''), fields: { token: 'x' } }) },
    '/admin/account/oidc': {
      isRead: true,
      make: async (role) => ({ by: await signedIn('full', role), fields: { 'oidc-own': password } }),
    },
    '/admin/account/oidc/disconnect': {
      make: async (role) => {
        const by = await signedIn('full', role)
        const { issuer } = bench.service.config.oidc!
        await query(
          `insert into operator_identities (issuer, subject, operator_id) values ($1, gen_random_uuid()::text, $2)`,
          [issuer, by.id],
        )
        return { by, fields: { 'oidc-own': password } }
      },
    },
    '/admin/sign-in/cancel': { make: async () => ({ by: await signedIn('code') }) },
    '/admin/sign-out': { make: async (role) => ({ by: await signedIn('full', role) }) },
    '/admin/second-factor': {
      make: async () => {
        const by = await signedIn('enrol')
        await giveSecret('totp_pending', by.id)
        return { by, fields: { code: codeNow() } }
      },
    },
    '/admin/second-factor/skip': { make: async () => ({ by: await signedIn('enrol') }) },
    '/admin/second-factor/cancel': { make: async () => ({ by: await signedIn('enrol') }) },
    '/admin/welcome': {
      make: async () => {
        const { link } = await invite()
        const token = link.split('token=')[1]!
        return { by: await stranger(''), fields: { token, name: 'Eve', email: 'eve@example.com', password } }
      },
    },
    '/admin/client-apps': { make: async () => ({ fields: { ...appFields, form: crypto.randomUUID() } }) },
    '/admin/client-apps/:clientId': { make: async () => ({ ...(await clientApp()), fields: appFields }) },
    '/admin/client-apps/:clientId/active': {
      make: async () => ({ ...(await clientApp()), fields: { to: 'inactive' } }),
    },
    '/admin/client-apps/:clientId/events': {
      make: async () => ({ ...(await clientApp()), fields: { to: 'on' } }),
    },
    '/admin/client-apps/:clientId/events/test': { make: async () => ({ path: await appWithEvents() }) },
    '/admin/client-apps/:clientId/endpoints': {
      make: async () => ({ path: await appWithEvents(), fields: { url: receiver, form: crypto.randomUUID() } }),
    },
    '/admin/client-apps/:clientId/endpoints/:id/rotate': {
      make: async () => ({ path: await endpoint(), fields: { overlap: '1h', form: crypto.randomUUID() } }),
    },
    '/admin/client-apps/:clientId/endpoints/:id/state': {
      make: async () => ({ path: await endpoint(), fields: { to: 'disabled' } }),
    },
    '/admin/client-apps/:clientId/endpoints/:id/replay': {
      make: async () => ({ path: await endpoint(), fields: { first: '1', last: '1' } }),
    },
    '/admin/client-apps/:clientId/endpoints/:id/remove': { make: async () => ({ path: await endpoint() }) },
    '/admin/client-apps/:clientId/secrets': {
      make: async () => ({ ...(await clientApp()), fields: { overlap: '1h', form: crypto.randomUUID() } }),
    },
    '/admin/client-apps/:clientId/secrets/:id/revoke': {
      make: async () => {
        const { clientId } = await newApp(bench.service)
        return { path: { clientId, id: await secretOf(clientId) } }
      },
    },
    '/admin/wallets/:id/notes': {
      make: async () => ({ ...(await wallet()), fields: { note: 'Called twice', form: crypto.randomUUID() } }),
    },
    '/admin/wallets/:id/mails': {
      make: async () => {
        const { path } = await wallet()
        for (const about of ['deleted', 'closed'])
          await query(
            `insert into mails (fact, user_id, kind, detail, due_at) values ($1, $2, 'deleted', '{"kind":"deleted"}', null)`,
            [`${about}-${path.id}`, path.id],
          )
        return { path, fields: { fact: `deleted-${path.id}`, form: crypto.randomUUID() } }
      },
    },
    '/admin/wallets/:id/data': { make: async () => ({ ...(await wallet()), fields: { dataReason: 'by post' } }) },
    '/admin/wallets/:id/deletion': {
      make: async () => ({ ...(await wallet()), fields: { deletionReason: 'by post' } }),
    },
    '/admin/wallets/:id/deletion/approve': { make: () => waitingDeletion('cli:somebody') },
    '/admin/wallets/:id/deletion/decline': {
      make: async () => {
        const { path, fields } = await waitingDeletion('cli:somebody')
        return { path, fields: { ...fields, declineReason: 'not this user' } }
      },
    },
    '/admin/wallets/:id/deletion/withdraw': {
      make: async (role = 'admin') => {
        const by = await signedIn('full', role)
        return { by, ...(await waitingDeletion(by.actor)) }
      },
    },
    '/admin/client-apps/:clientId/settlements': {
      make: async () => ({
        path: { clientId: await owedApp() },
        fields: { id: newId(), through: '2026-01-31', amount: '1000', reference: 'SEPA 4711' },
      }),
    },
    '/admin/client-apps/:clientId/settlements/:id/reverse': {
      make: async () => ({ path: await settledApp(), fields: { ...reason, id: newId() } }),
    },
    '/admin/wallets/:id/freeze': { make: async () => ({ ...(await wallet()), fields: reason }) },
    '/admin/wallets/:id/unfreeze': {
      make: async () => {
        const { path } = await wallet()
        await admin.post(`/admin/wallets/${path.id}/freeze`, reason)
        return { path, fields: reason }
      },
    },
    '/admin/wallets/:id/bonus': {
      isRead: true,
      make: async () => ({ ...(await wallet()), fields: { amount: '5', bonusReason: 'sorry' } }),
    },
    '/admin/wallets/:id/bonus/grant': {
      make: async () => ({
        ...(await wallet()),
        fields: { amount: '5', bonusReason: 'sorry', referenceId: crypto.randomUUID() },
      }),
    },
    '/admin/wallets/:id/correct': {
      isRead: true,
      make: async () => ({ ...(await wallet()), fields: correction }),
    },
    '/admin/wallets/:id/correct/order': {
      make: async () => ({ ...(await wallet()), fields: { ...correction, id: crypto.randomUUID() } }),
    },
    '/admin/corrections/:id/approve': { make: async () => ({ path: { id: await waitingCorrection('test') } }) },
    '/admin/corrections/:id/decline': {
      make: async () => ({ path: { id: await waitingCorrection('test') }, fields: reason }),
    },
    '/admin/corrections/:id/withdraw': {
      make: async (role = 'finance') => {
        const by = await signedIn('full', role)
        return { by, path: { id: await waitingCorrection(by.actor) } }
      },
    },
    '/admin/topups/:id/refund': {
      isRead: true,
      make: async () => ({ path: await topup(), fields: { ...reason, amount: '10' } }),
    },
    '/admin/topups/:id/refund/order': {
      make: async () => ({ path: await topup(), fields: { ...reason, amount: '10', key: crypto.randomUUID() } }),
    },
    '/admin/holds/:id/void': {
      make: async () => ({ path: { id: await openHold() }, fields: { ...reason, form: crypto.randomUUID() } }),
    },
    '/admin/work/again': {
      make: async () => {
        const fields = { kind: 'send-mail', key: crypto.randomUUID() }
        await query(
          `insert into work (kind, key, due_at, failures, given_up_at) values ($1, $2, now(), 1, now())`,
          Object.values(fields),
        )
        return { fields }
      },
    },
    '/admin/reconciliation/day': { make: async () => ({ fields: { day: await readableDay() } }) },
    '/admin/reconciliation/contradiction': {
      make: async () => {
        const [row] = await query<{ id: string }>(
          `insert into report_contradictions (line_id, day, file_said, read_by, read_at) values ($1, '2026-01-05',
             '{"kind": "charge", "payment": null, "amount": "100", "fee": "0", "at": "2026-01-05 12:00:00"}', 'cli', now()) returning id`,
          [`txn_${crypto.randomUUID()}`],
        )
        return { fields: { ...reason, id: row!.id } }
      },
    },
    '/admin/reconciliation/difference': {
      make: async () => {
        const payment = `pi_${crypto.randomUUID()}`
        await query(
          `insert into reconciliation_differences (payment_intent_id, kind, day, processor_amount, ledger_amount, found_at)
           values ($1, 'charge', '2026-01-05', 100, 0, now())`,
          [payment],
        )
        return { fields: { ...reason, payment, kind: 'charge', seen: '100 0' } }
      },
    },
    '/admin/reconciliation/file': {
      make: async () => ({
        fields: {
          report: `balance_transaction_id,created_utc,reporting_category,currency,gross,fee,payment_intent_id
txn_${crypto.randomUUID()},${await readableDay()} 12:00:00,payout,usd,-1.00,0.00,`,
        },
      }),
    },
    '/admin/operators/invite': { make: async () => ({ fields: { role: 'viewer', email: newEmail() } }) },
    '/admin/operators/invites/:id/resend': { make: async () => ({ path: { id: (await invite()).id } }) },
    '/admin/operators/invites/:id/revoke': { make: async () => ({ path: { id: (await invite()).id } }) },
    '/admin/operators/changes/:id/approve': { make: async () => ({ path: { id: await waitingChange('test') } }) },
    '/admin/operators/changes/:id/decline': { make: async () => ({ path: { id: await waitingChange('test') } }) },
    '/admin/operators/changes/:id/withdraw': {
      make: async (role = 'admin') => {
        const by = await signedIn('full', role)
        return { by, path: { id: await waitingChange(by.actor) } }
      },
    },
    '/admin/operators/:id/suspend': { make: async () => ({ path: { id: (await signedIn('full')).id } }) },
    '/admin/operators/:id/access': {
      make: async () => ({ path: { id: (await signedIn('full')).id }, fields: { role: 'viewer' } }),
    },
    '/admin/operators/:id/reset': { make: async () => ({ path: { id: (await signedIn('full')).id } }) },
    '/admin/operators/:id/sign-out': { make: async () => ({ path: { id: (await signedIn('full')).id } }) },
    '/admin/account/password': {
      make: async (role) => ({
        by: await signedIn('full', role),
        fields: { before: password, after: `${password} again` },
      }),
    },
    '/admin/account/recovery-codes': {
      make: async (role) => ({ by: await signedIn('full', role), fields: { own: password } }),
    },
    '/admin/account/second-factor': {
      make: async (role) => ({ by: await signedIn('full', role), fields: { own: password } }),
    },
    '/admin/account/sessions/end': {
      make: async (role) => {
        const by = await signedIn('full', role)
        const [row] = await query<{ id: string }>(
          'select id from operator_sessions where operator_id = $1 order by created_at limit 1',
          [by.id],
        )
        return { by, fields: { id: row!.id } }
      },
    },
    '/admin/account/sessions/end-all': { make: async (role) => ({ by: await signedIn('full', role) }) },
  }

  /** An app with 10 to be paid out for a day in January. */
  async function owedApp(): Promise<string> {
    const { clientId } = await newApp(bench.service)
    await postInJanuary(bench.service, clientId)
    return clientId
  }

  async function settledApp(): Promise<{ clientId: string; id: string }> {
    const order = { id: newId(), clientId: await owedApp(), throughDay: '2026-01-31', reference: 'SEPA 4711' }
    await settleApp(bench.service, { name: 'test', address: null }, order)
    return { clientId: order.clientId, id: order.id }
  }

  /** An app holds 20 of 50. */
  async function openHold(): Promise<string> {
    const { serviceUserId } = await newUser(bench.service, bench.credentials)
    const app = (await bench.service.apps.find(bench.credentials.clientId))!
    const order = { serviceUserId, referenceType: 'ORDER', referenceId: crypto.randomUUID(), description: null }
    await postForApp(bench.service, app, { ...order, direction: 'credit', amountMinor: 50_00n })
    const asked = { ...order, amountMinor: 20_00n, seconds: 3_600, arrivedAt: performance.now() }
    const placed = await placeHold(bench.service, app, asked)
    if (placed.kind !== 'outcome') throw new Error(placed.kind)
    return holdIdOf(placed.outcome.referenceKey)
  }

  async function waitingCorrection(askedBy: string): Promise<string> {
    const { path } = await wallet()
    const order = { id: newId(), walletId: path.id, amountMinor: 500_00n, reason: 'as agreed', corrects: null }
    await askCorrection(bench.service, { name: askedBy, address: null }, { ...order, counterAccount: 'adjustments' })
    return order.id
  }

  async function waitingDeletion(askedBy: string) {
    const { path } = await wallet()
    const asked = await askDeletion(
      bench.service,
      { name: askedBy, address: null },
      { userId: path.id, reason: 'by post' },
    )
    if (asked.kind !== 'waiting') throw new Error(`the deletion was not asked for: ${asked.kind}`)
    return { path, fields: { deletion: asked.deletion.id } }
  }

  /** An invitation, and the path of the link in its mail. */
  async function invite(): Promise<{ id: string; link: string }> {
    const email = newEmail()
    await admin.post('/admin/operators/invite', { role: 'viewer', email })
    const link = await mailedLink(bench.service, email)
    const [row] = await query<{ id: string }>('select id from operator_invites where email = $1', [email])
    return { id: row!.id, link }
  }

  async function waitingChange(askedBy: string): Promise<string> {
    const change = { kind: 'invite', email: newEmail(), role: 'viewer' } as const
    const id = newId()
    await transact(bench.service.db, (tx) => insertChange(tx, { id, change, askedBy, lifetimeMs: 60_000 }))
    return id
  }

  async function secretOf(clientId: string): Promise<string> {
    return (await query<{ id: string }>('select id from app_secrets where client_id = $1', [clientId]))[0]!.id
  }

  return {
    forms,
    reason,
    owedApp,
    settledApp,
    openHold,
    waitingCorrection,
    waitingDeletion,
    waitingChange,
    signedIn,
    giveSecret,
    secretOf,
    appWithEvents,
    endpoint,
  }
}
