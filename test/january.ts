/** Entries of a day that is long over, as the ledger would have made them then. */
import { counterAccountOfApp, serviceNamespace } from '../src/ledger/reference.ts'
import type { Service } from '../src/actions/service.ts'
import { newId } from '../src/actions/tokens.ts'
import { referenceKeyOf } from '../src/store/outcomes.ts'
import { newUser } from './service.ts'

/** On 2026-01-31 a new user of the app was given 15 and paid 10 of them to the app. */
export async function postInJanuary(service: Service, clientId: string): Promise<void> {
  const { userId } = await newUser(service, { clientId })
  const [account, id] = [counterAccountOfApp(clientId), newId()]
  const given = referenceKeyOf({ namespace: serviceNamespace, type: 'BONUS', id })
  const paid = referenceKeyOf({ namespace: account, type: 'ORDER', id })
  await service.db.pool.query(
    `with entry (sequence, amount, balance, key, account, type) as (
       values (1::bigint, 1500::bigint, 1500::bigint, $3::uuid, 'bonus', 'BONUS'), (2, -1000, 500, $4::uuid, $2::text, 'ORDER')
     ), wallet as (
       update wallets set balance = 500, sequence = 2 where id = $1
     ), transfer as (
       insert into transfers (wallet_id, sequence, amount, balance_after, reference_key, created_at, counter_account, reference_type, reference_id)
       select $1, sequence, amount, balance, key, '2026-01-31T12:00:00Z', account, type, $5 from entry
     ), outcome as (
       insert into outcomes (reference_key, wallet_id, amount, balance, sequence, created_at)
       select key, $1, amount, balance, sequence, '2026-01-31T12:00:00Z' from entry
     )
     insert into positions as p (counter_account, day, writer, debited, credited, transfers)
     select account, '2026-01-31', 999, greatest(-amount, 0), greatest(amount, 0), 1 from entry
     on conflict (counter_account, day, writer) do update set
       debited = p.debited + excluded.debited, credited = p.credited + excluded.credited, transfers = p.transfers + 1`,
    [userId, account, given, paid, id],
  )
}
