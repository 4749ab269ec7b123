/** A call of each kind, whose reference is first used in a period that is then archived: its answer must stay the same. */
import type { ArchiveBench } from './archived-period.ts'
import type { Reply } from './client.ts'
import { holdClient, holdOf } from './holds.ts'
import type { TestUser } from './service.ts'

type Calls = Readonly<Record<string, (bench: ArchiveBench) => Promise<Reply>>>

const holderOf = ({ client, credentials }: ArchiveBench) => holdClient(client, credentials)

/** Makes no call but that of the first credit and of the hold. */
export async function openReferences(bench: ArchiveBench, ann: TestUser, bob: TestUser, cid: TestUser) {
  const su = ann.serviceUserId
  await bench.client.credit(su, 500, 'first')
  const held = holdOf(await holderOf(bench).place(su, 10, { referenceId: 'kept-hold' }))
  const operations = ['list-1', 'list-2', 'list-3'].map((referenceId) => ({
    serviceUserId: su,
    amount: 3,
    referenceType: 'ORDER',
    referenceId,
    direction: 'debit',
  }))
  const calls: Calls = {
    debit: ({ client }) => client.debit(su, 5, 'kept-debit'),
    credit: ({ client }) => client.credit(su, 7.25, 'kept-credit'),
    refusal: ({ client }) => client.debit(su, 500_000, 'kept-refusal'),
    'a refusal of a wallet without entries': ({ client }) => client.debit(cid.serviceUserId, 1, 'kept-refusal-of-cid'),
    capture: (at) => holderOf(at).capture(held.id, { amount: 4, referenceType: 'ORDER', referenceId: 'kept-capture' }),
    hold: (at) => holderOf(at).place(su, 10, { referenceId: 'kept-hold' }),
    'a hold by its id': (at) => holderOf(at).read(held.id),
    'of another user': ({ client }) => client.debit(bob.serviceUserId, 5, 'kept-debit'),
    'of another amount': ({ client }) => client.debit(su, 6, 'kept-debit'),
    'of another direction': ({ client }) => client.credit(su, 5, 'kept-debit'),
    list: ({ client, credentials }) => client.post('/api/server/wallet/bulk', { ...credentials, operations }),
  }
  return {
    answers: async (at: ArchiveBench) => {
      const found = new Map<string, unknown>()
      for (const [name, call] of Object.entries(calls)) found.set(name, answered(await call(at)))
      return found
    },
  }
}

/** A first answer and its repeat differ in nothing else. */
const answered = ({ status, body }: Reply) => ({ status, ...body, replayed: undefined, requestId: undefined })
