import { expect, test } from 'bun:test'
import type { Session } from '../store/people/widget-sessions.ts'
import type { SeenWallet } from '../store/wallets.ts'
import { openLive } from './live.ts'

const until = async (isSo: () => boolean) => {
  for (const endsAt = Date.now() + 30_000; !isSo(); await Bun.sleep(5))
    if (Date.now() > endsAt) throw new Error('it did not come')
}

/** Wallets that change only when a test changes one, sessions `name` of the wallet `name`, and a list of the queries. */
function openRig() {
  const sequences = new Map<string, number>()
  const over = new Set<string>()
  const asked = { snapshots: 0, changed: [] as number[], sessions: [] as string[][] }
  const faults: unknown[] = []
  const rig = { commits: 0, isAway: false }
  const sessionOf = (name: string, walletId = name) =>
    ({
      tokenHash: Buffer.from(name),
      userId: walletId,
      sequence: sequences.get(walletId) ?? 0,
      frozenFor: null,
    }) as Session
  const walletOf = new Map<string, string>()
  const questions = {
    getSnapshot: async () => {
      asked.snapshots++
      return String(rig.commits)
    },
    findChangedWallets: async (seen: readonly SeenWallet[]) => {
      asked.changed.push(seen.length)
      return seen.flatMap((each) => ((sequences.get(each.walletId) ?? 0) === each.sequence ? [] : [each.walletId]))
    },
    findSessions: async (hashes: readonly Buffer[]) => {
      if (rig.isAway) throw new Error('away')
      asked.sessions.push(hashes.map(String))
      return hashes.map(String).flatMap((name) => (over.has(name) ? [] : [sessionOf(name, walletOf.get(name))]))
    },
  }
  const live = openLive(questions, (error) => faults.push(error))
  const watch = (name: string, walletId = name) => {
    walletOf.set(name, walletId)
    const seen: (number | undefined)[] = []
    const onCheck = (session: Session | undefined) => void seen.push(session?.sequence)
    const stop = live.watch({ session: sessionOf(name, walletId), onCheck, end: () => stop?.() })
    return { seen, stop }
  }
  /** A change by another process, without a poke. */
  const move = (walletId: string) => {
    sequences.set(walletId, (sequences.get(walletId) ?? 0) + 1)
    rig.commits++
  }
  return { rig, live, asked, faults, watch, move, over }
}

/** Waits for two more polls, so that every due query was made. */
const settled = async ({ asked }: { asked: { snapshots: number } }) => {
  const before = asked.snapshots
  await until(() => asked.snapshots >= before + 3)
}

test('sessions of the same moment are asked for in one question, each once', async () => {
  const { asked, watch } = openRig()
  const watchers = ['a', 'b', 'a', 'c'].map((name) => watch(name))
  await until(() => asked.sessions.length > 0)
  expect(asked.sessions[0]).toEqual(['a', 'b', 'c'])
  // Another check may have run since, which is another query.
  expect(watchers.map(({ seen }) => seen[0])).toEqual([0, 0, 0, 0])
  for (const { stop } of watchers) stop?.()
})

test('while nothing is committed, nothing but that is asked', async () => {
  const opened = openRig()
  const { asked, watch } = opened
  const { stop } = watch('a')
  await settled(opened)
  const { changed, sessions } = structuredClone(asked)
  await settled(opened)
  expect([asked.changed, asked.sessions]).toEqual([changed, sessions])
  stop?.()
})

test('a wallet that another process moved is looked at, and of many others those whose turn it is', async () => {
  const opened = openRig()
  const { asked, watch, move } = opened
  const many = Array.from({ length: 1_800 }, (_, i) => watch(`w${i}`))
  await settled(opened)
  await until(() => many.every(({ seen }) => seen.length > 0))
  await settled(opened)
  await settled(opened)
  // All of them together would take the event loop too long.
  expect(Math.max(...asked.sessions.map(({ length }) => length))).toBe(200)
  asked.sessions.length = 0
  move('w1700')
  await until(() => many[1_700]!.seen.at(-1) === 1)
  expect(asked.sessions.flat().length).toBeLessThanOrEqual(501)
  for (const { stop } of many) stop?.()
})

test('a session that ended elsewhere is found when its turn comes, though its wallet stands still and nothing else happens', async () => {
  const opened = openRig()
  const { watch, over, rig } = opened
  const many = Array.from({ length: 1_800 }, (_, i) => watch(`w${i}`))
  await until(() => many.every(({ seen }) => seen.length > 0))
  for (const i of [3, 900, 1_799]) over.add(`w${i}`)
  rig.commits++
  await until(() => [3, 900, 1_799].every((i) => many[i]!.seen.at(-1) === undefined))
  for (const { stop } of many) stop?.()
})

test('nobody watching, nothing is asked', async () => {
  const opened = openRig()
  const { asked, watch, live } = opened
  live.poke('a')
  const { stop } = watch('a')
  await settled(opened)
  stop?.()
  stop?.()
  expect(live.count()).toBe(0)
  const before = structuredClone(asked)
  await Bun.sleep(900)
  expect(asked).toEqual(before)
  const again = watch('a')
  await until(() => again.seen.length > 0)
  again.stop?.()
})

test('a poke brings a look at that wallet alone, and thousands of them bring no more looks than one does', async () => {
  const opened = openRig()
  const { asked, watch, live } = opened
  const stops = ['a', 'b', 'c'].map((name) => watch(name).stop)
  await settled(opened)
  asked.sessions.length = 0
  for (let i = 0; i < 5_000; i++) live.poke('b')
  live.poke('somebody else')
  await until(() => asked.sessions.length > 0)
  await settled(opened)
  expect(asked.sessions).toEqual([['b']])
  for (const stop of stops) stop?.()
})

test('both sessions of a wallet are looked at when it is poked', async () => {
  const opened = openRig()
  const { asked, watch, live } = opened
  const stops = [watch('s1', 'w').stop, watch('s2', 'w').stop, watch('s3', 'other').stop]
  await settled(opened)
  asked.sessions.length = 0
  live.poke('w')
  await until(() => asked.sessions.length > 0)
  expect(asked.sessions).toEqual([['s1', 's2']])
  for (const stop of stops) stop?.()
})

test('a look that fails is told, and what happened meanwhile is found afterwards', async () => {
  const { watch, rig, faults, move } = openRig()
  const { seen, stop } = watch('a')
  await until(() => seen.length > 0)
  rig.isAway = true
  move('a')
  await until(() => faults.length > 1)
  rig.isAway = false
  await until(() => seen.at(-1) === 1)
  stop?.()
})

test('there are at most six watchers of a session and twenty thousand in all', () => {
  const { live, watch } = openRig()
  const stops = Array.from({ length: 2_100 }, (_, i) => watch(`s${i >> 3}`).stop)
  expect(stops.slice(0, 8).filter(Boolean)).toHaveLength(6)
  const more = Array.from({ length: 20_100 }, (_, i) => watch(`t${i}`).stop)
  expect(live.count()).toBe(20_000)
  for (const stop of [...stops, ...more]) stop?.()
  expect(live.count()).toBe(0)
})
