/** Answers the forms for a user's data and for the deletion of the account. */
import { exportDataFor } from '../../actions/people/export-data.ts'
import {
  askDeletion,
  decideDeletion,
  describeKept,
  type AskedDeletion,
  type DecidedOnDeletion,
  type DeletionProblem,
} from '../../actions/people/request-deletion.ts'
import type { KeptReason } from '../../actions/people/delete-account.ts'
import { isUuid } from '../../actions/tokens.ts'
import type { DecidedDeletion } from '../../store/people/deletions.ts'
import type { Person } from '../../store/people/user-search.ts'
import { findWallet } from '../../store/wallets.ts'
import { plainHeaders } from '../../web/headers.ts'
import { streamed } from '../../web/stream.ts'
import { reasonProblem } from '../kit/amount-and-reason.tsx'
import { redirect, showNotFound, showProblem, showTooMany } from '../kit/respond.tsx'
import { post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { walletPage } from './wallet.tsx'
import { findPersonOf } from './wallet-view.tsx'

export const personalDataRoutes: AdminRoute[] = [
  post('/admin/wallets/:id/data', downloadData, 'people'),
  post('/admin/wallets/:id/deletion', ask, 'people'),
  post('/admin/wallets/:id/deletion/approve', (request) => decide(request, 'approved'), 'people'),
  post('/admin/wallets/:id/deletion/decline', (request) => decide(request, 'declined'), 'people'),
  post('/admin/wallets/:id/deletion/withdraw', (request) => decide(request, 'withdrawn'), 'people'),
]

const goneText = 'The account was deleted: there is no personal data any more.'

/** Continues with the user of the path and the reason in the field. */
async function withReason(
  request: AdminRequest,
  field: string,
  next: (person: Person, reason: string) => Promise<Response>,
): Promise<Response> {
  const person = await findPersonOf(request)
  if (!person) return await showNotFound(request, 'wallet')
  const reason = request.form.text(field).trim()
  const problem = reasonProblem(reason)
  return problem ? await walletPage(request, person, { [field]: problem }) : await next(person, reason)
}

async function downloadData(request: AdminRequest): Promise<Response> {
  return await withReason(request, 'dataReason', async ({ id: userId }, reason) => {
    const exported = await exportDataFor(request.service, request.actor, { userId, reason })
    if (exported.kind === 'limited') return await showTooMany(request, exported.retryAfterSeconds)
    if (exported.kind === 'gone') return await showProblem(request, 409, goneText)
    return streamed(exported.chunks, {
      ...plainHeaders,
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="user-data-${userId}.json"`,
    })
  })
}

async function ask(request: AdminRequest): Promise<Response> {
  return await withReason(request, 'deletionReason', async ({ id: userId }, reason) => {
    const asked = await askDeletion(request.service, request.actor, { userId, reason })
    if (asked.kind === 'waiting') return redirect(`/admin/wallets/${userId}?done=deletion-waiting#personal-data`)
    if (asked.kind === 'limited') return await showTooMany(request, asked.retryAfterSeconds)
    if (asked.kind === 'kept') return await showKept(request, userId, asked.reason)
    return await showProblem(request, 409, askProblems[asked.kind])
  })
}

const askProblems: Readonly<Record<Exclude<AskedDeletion['kind'], 'waiting' | 'limited' | 'kept'>, string>> = {
  gone: goneText,
  'another-waits': 'A request to delete this account already waits for a second operator.',
  'too-many-wait': 'Too many deletions wait for a second operator. Decide on some of them first.',
}

async function showKept(request: AdminRequest, userId: string, reason: KeptReason): Promise<Response> {
  const { service } = request
  const { balanceMinor } = (await findWallet(service.db.pool, userId))!
  const text = describeKept(reason, balanceMinor, service.config.currency)
  return await showProblem(request, 409, `The account cannot be deleted now. ${text}`)
}

/** The form names the request that the page showed, so a later one is never decided by mistake. */
async function decide(request: AdminRequest, state: DecidedDeletion): Promise<Response> {
  const { service, actor, form } = request
  if (state === 'declined')
    return await withReason(request, 'declineReason', async ({ id }, reason) => answer(id, reason))
  const person = await findPersonOf(request)
  return person ? await answer(person.id, null) : await showNotFound(request, 'wallet')

  async function answer(userId: string, reason: string | null): Promise<Response> {
    const id = form.text('deletion')
    if (!isUuid(id)) return await showProblem(request, 422, 'This form is incomplete. Start again from the wallet.')
    return await answerDecision(
      request,
      userId,
      await decideDeletion(service, actor, { id, userId }, { state, reason }),
    )
  }
}

const decisionProblems: Readonly<Record<Exclude<DeletionProblem, 'decided' | 'unknown'>, string>> = {
  expired: 'The request has expired. Request the deletion again.',
  own: 'You requested this deletion yourself. Another operator must decide on it.',
  'not-own': 'Only the operator who requested a deletion can withdraw it. You can decline it.',
  'no-right': 'Your access or role was changed. Sign in again.',
  'asker-left':
    'The operator who requested it has no right to do so any more. Decline it; another operator can request it again.',
}

const dependentText =
  'You and the operator who requested it do not count as two people yet, because access was given lately. The page of the wallet says who gave it, and when this ends.'

/** A request that is already decided, by another operator, the user or an earlier click, is shown as it is. */
async function answerDecision(request: AdminRequest, userId: string, result: DecidedOnDeletion): Promise<Response> {
  const page = (done: string) => redirect(`/admin/wallets/${userId}?done=deletion-${done}#personal-data`)
  if (result.kind === 'done') return page(result.deletion.state)
  if (result.kind === 'kept') return await showKept(request, userId, result.reason)
  if (result.kind === 'dependent') return await showProblem(request, 409, dependentText)
  if (result.problem === 'unknown') return await showNotFound(request, 'request')
  if (result.problem === 'decided') return page('decided')
  return await showProblem(request, 409, decisionProblems[result.problem])
}
