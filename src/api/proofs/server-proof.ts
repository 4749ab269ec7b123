/** Proofs of an app's own entries and positions, which anybody can check without the service. */
import { z } from 'zod'
import { isDay } from '../../actions/apps/settle-app.ts'
import { provePosition } from '../../actions/proofs/prove-position.ts'
import { proveReference } from '../../actions/proofs/prove-reference.ts'
import type { Service } from '../../actions/service.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import type { App } from '../../store/apps.ts'
import { readClientCall } from '../client-call.ts'
import { proofExample } from '../examples.ts'
import { answer, refuse, refuseFor, type Answer } from '../reply.ts'
import type { Route } from '../route.ts'
import { alwaysErrors, callErrors } from '../server.ts'
import * as shape from '../shapes.ts'

const fields = z.object({
  ...shape.credentialFields,
  referenceType: shape.referenceType.optional(),
  referenceId: shape.referenceId.optional().describe('Of a debit, credit or capture of this app'),
  day: z
    .string('must be a day such as 2026-03-31')
    .refine(isDay, 'must be a day such as 2026-03-31')
    .meta({ format: 'date' })
    .optional()
    .describe('In place of the reference, a day in UTC: proves what this app’s account stood at when the day ended'),
  since: shape
    .whole(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'The `walletSize` of an earlier proof of the same wallet: the new one shows that it continues that history',
    ),
})

/** Either a day, or a reference. */
const schema = fields.superRefine(({ referenceType, referenceId, since, day }, context) => {
  const complain = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message })
  if (day === undefined) {
    for (const [name, value] of Object.entries({ referenceType, referenceId }))
      if (value === undefined) complain(name, 'is missing: give the reference of an entry, or a day')
  } else
    for (const [name, value] of Object.entries({ referenceType, referenceId, since }))
      if (value !== undefined) complain(name, 'must not be given with a day')
})

const output = z
  .object({
    proof: z
      .string()
      .describe('The proof: a text file, which `@billfold/sdk/verify` and `npx billfold verify-receipt` check'),
    key: z.string().describe('The public key of the log. Compare it with one that you got another way'),
  })
  .meta({ id: 'EntryProof' })

export function serverProofRoute(service: Service): Route {
  return {
    method: 'GET',
    path: '/api/server/proof',
    tag: 'Server',
    proof: 'app',
    summary: 'Prove an entry, or the position of a day',
    description: [
      'Returns a file that proves one entry of this app: amount, time, reference and its place in the wallet’s history, signed.',
      'An entry that is newer than the last seal is sealed at once. With `day` it proves what the app had received and paid when that day ended;',
      'a day is sealed some hours after its end.',
    ].join(' '),
    input: schema,
    output,
    errors: [...callErrors, 'NOT_FOUND', ...alwaysErrors],
    example: proofExample,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { referenceType = '', referenceId = '', since, day } = read.input
      if (day !== undefined) return await answerPosition(service, read.app, day)
      const result = await proveReference(service, read.app, {
        referenceType,
        referenceId,
        since: since === undefined ? undefined : Number(since),
      })
      if (result.kind === 'proof') return answer({ proof: result.file, key: result.key })
      return refusals[result.kind]()
    },
  }
}

async function answerPosition(service: Service, { clientId }: App, day: string): Promise<Answer> {
  const result = await provePosition(service, counterAccountOfApp(clientId), day)
  if (result.kind === 'proof') return answer({ proof: result.file, key: result.key })
  if (result.kind === 'skipped')
    return refuse('NOT_FOUND', {
      error: `The books were not sealed at the end of this day. The next sealed day is ${result.next}.`,
    })
  return positionRefusals[result.kind]()
}

const positionRefusals = {
  'not-sealed': () =>
    refuse('NOT_FOUND', {
      error: 'The books of this day are not sealed yet: a day is sealed some hours after its end.',
    }),
  'no-entries': () => refuse('NOT_FOUND', { error: 'This app had no entries when this day ended.' }),
  'not-yet': () => refuseFor(10, 'UNAVAILABLE'),
  contradiction: () => {
    throw new Error('the position is not what was sealed')
  },
}

const refusals = {
  archived: () =>
    refuse('NOT_FOUND', {
      error: 'The proof needs entries that are in the archive. Ask the operator of the service for it.',
    }),
  'not-found': () => refuse('NOT_FOUND', { error: 'This app has no entry with this reference.' }),
  'not-since': () => refuse('INVALID_REQUEST', { fields: { since: 'is more than the entries of this wallet' } }),
  'not-yet': () => refuseFor(1, 'UNAVAILABLE'),
  contradiction: () => {
    throw new Error('the entry is not what was sealed')
  },
}
