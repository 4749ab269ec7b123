/**
 * Writers that roll back, commit late and post for two apps on the same wallets, for tests that kill the process:
 * `bun test/events/write-process.ts <plan>`. A line of output is a batch that has ended.
 */
import { beginBatch } from '../../src/store/cluster/batch.ts'
import { isContention, openDatabase, transact } from '../../src/store/connection/database.ts'
import { journalUserFact } from '../../src/store/events/journal.ts'
import { lockWallet } from '../../src/store/wallets.ts'
import { postLocked } from '../../src/store/writer/careful-statement.ts'
import type { WriterClient } from '../../src/store/writer/connection.ts'
import type { TestUser } from '../service.ts'
import { bonusOf, creditOf, openLane, postBatch, seeded } from './rig.ts'

export type WritePlan = {
  readonly databaseUrl: string
  readonly seed: number
  readonly batches: number
  /** Each with the same users, in the same order. */
  readonly apps: readonly { readonly clientId: string; readonly users: readonly TestUser[] }[]
}

const { databaseUrl, seed, batches, apps }: WritePlan = JSON.parse(process.argv[2]!)
const db = openDatabase({ connectionString: databaseUrl })
const users = apps[0]!.users

async function write(random: () => number): Promise<void> {
  const lane = await openLane({ db })
  const anyOf = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!
  for (let i = 0; i < batches; i++) {
    const isLate = random() < 0.25
    const isKept = random() > 0.08
    if (random() < 0.15) {
      const bonuses = [bonusOf(anyOf(users).userId), bonusOf(anyOf(users).userId)]
      await attempt(lane, () => postLocked(lane.client, bonuses, { isPatient: true, writer: lane.number }))
    } else {
      const credits = Array.from({ length: 4 }, () => {
        const app = anyOf(apps)
        return creditOf(app, anyOf(app.users))
      })
      await attempt(lane, async () => {
        await beginBatch(lane.client)
        await postBatch(lane, onePerWallet(credits))
        if (isLate) await untilNumbered()
        await lane.client.query(isKept ? 'commit' : 'rollback')
      })
    }
    process.stdout.write('batch\n')
  }
  await lane.client.end()
}

/** On a cluster a batch that waits for a row gives up, because two nodes could wait for each other. */
async function attempt({ client }: WriterClient, post: () => Promise<unknown>): Promise<void> {
  try {
    await post()
  } catch (error) {
    if (!client.isCluster() || !isContention(error)) throw error
    await client.query('rollback').catch(() => {})
  }
}

const numbered = async () => (await db.pool.query('select sum(numbered_up_to) from event_cursors')).rows[0]

/** Until others' events have got numbers, so that this batch commits after what has higher serials. */
async function untilNumbered(): Promise<void> {
  const before = await numbered()
  for (let i = 0; i < 20 && Bun.deepEquals(await numbered(), before); i++) await Bun.sleep(10)
}

/** The fast statement moves a wallet for one app only. */
function onePerWallet(credits: readonly ReturnType<typeof creditOf>[]) {
  const walletOf = new Map(apps.flatMap((app) => app.users.map((user) => [user.serviceUserId, user.userId])))
  const appOf = new Map<string, string>()
  return credits.filter(({ by }) => {
    if ('walletId' in by) return false
    const walletId = walletOf.get(by.serviceUserId)!
    const first = appOf.get(walletId) ?? by.clientId
    appOf.set(walletId, first)
    return first === by.clientId
  })
}

async function report(random: () => number): Promise<void> {
  for (let i = 0; i < batches; i++) {
    const { userId } = users[Math.floor(random() * users.length)]!
    const isKept = random() > 0.2
    await transact(db, async (tx) => {
      await lockWallet(tx, userId)
      await journalUserFact(tx, 'wallet.frozen', userId)
      await Bun.sleep(random() * 10)
      if (!isKept) throw new Error('rolled back')
    }).catch(() => {})
  }
}

await Promise.all([write(seeded(seed)), write(seeded(seed + 1)), report(seeded(seed + 2))])
process.exit(0)
