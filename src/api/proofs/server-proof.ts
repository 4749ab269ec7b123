/** Proofs of an app's own entries, which anybody can check without the service. */
import { z } from 'zod'
import { proveReference } from '../../actions/proofs/prove-reference.ts'
import type { Service } from '../../actions/service.ts'
import { readClientCall } from '../client-call.ts'
import { proofExample } from '../examples.ts'
import { answer, refuse, refuseFor } from '../reply.ts'
import type { Route } from '../route.ts'
import { alwaysErrors, callErrors } from '../server.ts'
import * as shape from '../shapes.ts'

const schema = z.object({
  ...shape.credentialFields,
  referenceType: shape.referenceType,
  referenceId: shape.referenceId.describe('Of a debit, credit or capture of this app'),
  since: shape
    .whole(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'The `walletSize` of an earlier proof of the same wallet: the new one shows that it continues that history',
    ),
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
    summary: 'Prove an entry',
    description:
      'Returns a file that proves one entry of this app: amount, time, reference and its place in the wallet’s history, signed. An entry that is newer than the last seal is sealed at once.',
    input: schema,
    output,
    errors: [...callErrors, 'NOT_FOUND', ...alwaysErrors],
    example: proofExample,
    handle: async (call) => {
      const read = await readClientCall(service, call, { scope: 'wallet:read', schema, kind: 'reads' })
      if (read.refusal) return read.refusal
      const { referenceType, referenceId, since } = read.input
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

const refusals = {
  'not-found': () => refuse('NOT_FOUND', { error: 'This app has no entry with this reference.' }),
  'not-since': () => refuse('INVALID_REQUEST', { fields: { since: 'is more than the entries of this wallet' } }),
  'not-yet': () => refuseFor(1, 'UNAVAILABLE'),
  contradiction: () => {
    throw new Error('the entry is not what was sealed')
  },
}
