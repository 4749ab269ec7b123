/** Calls about holds, and their time. */
import { sweepHolds as sweep } from '../src/actions/money/sweep-holds.ts'
import { longRunning } from '../src/store/connection/database.ts'
import { expireHolds } from '../src/work/expire-holds.ts'
import { runDue } from '../src/work/runner.ts'
import type { Client, Reply } from './client.ts'
import type { Credentials, TestService } from './service.ts'
import { letPass } from './time.ts'

export type HoldBody = {
  readonly id: string
  readonly status: string
  readonly amount: number
  readonly captured: number
  readonly remaining: number
  readonly createdAt: string
  readonly expiresAt: string
  readonly closedAt: string | null
} & Record<string, unknown>

export const holdOf = ({ body }: Reply) => body['hold'] as HoldBody

let count = 0

export function holdClient({ post, get }: Client, credentials: Credentials) {
  const ask = (path: string) => (values: object) => post(`/api/server/wallet/${path}`, { ...credentials, ...values })
  return {
    place: (serviceUserId: string, amount: number, values: object = {}) => {
      const referenceId = `hold-${++count}-${Math.random()}`
      return ask('hold')({ serviceUserId, amount, referenceType: 'ORDER', referenceId, ...values })
    },
    capture: (holdId: string, values: object = {}) => ask('hold/capture')({ holdId, ...values }),
    void: (holdId: string) => ask('hold/void')({ holdId }),
    extend: (holdId: string, expiresIn: number) => ask('hold/extend')({ holdId, expiresIn }),
    read: (holdId: string) => get('/api/server/wallet/hold', { holdId }),
    list: (serviceUserId: string, query: Record<string, string> = {}) =>
      get('/api/server/wallet/holds', { serviceUserId, ...query }),
  }
}

/** As if that much time had gone by since every hold was made. Nothing has closed the expired ones yet. */
export async function letHoldsAge({ service }: Pick<TestService, 'service'>, seconds: number): Promise<void> {
  await letPass(service.db.pool, seconds * 1_000, ['holds', 'work'])
}

/** What a process does every second. */
export async function sweepHolds({ service }: Pick<TestService, 'service'>): Promise<void> {
  await sweep(longRunning(service))
  await runDue(service, expireHolds)
}
