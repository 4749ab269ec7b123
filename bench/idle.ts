/** What a service costs that has nothing to do: right after a load, and when the check of what it wrote has ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { withOwnSeconds } from './backends.ts'
import { toFigure, type Figure } from './figures.ts'
import type { Job } from './job.ts'
import { runRound, type Site, type Stage } from './stage.ts'
import { exactCpuSeconds } from './usage.ts'

const windowSeconds = 10
const windows = 3

/** Every entry is checked, a round has ended, and the books are sealed. */
const settledSql = `select last_round_at is not null and not is_hurried and last_pass_wallets = 0
  and exists (select from log_checkpoints) as settled from books_check`

export async function measureIdle(
  stage: Stage,
  site: Site,
  job: Omit<Job, 'mark'>,
  log: (text: string) => void,
): Promise<Figure[]> {
  await runRound(stage, 'before rest', site.server, job, site.acknowledged)
  const after = await spentIn(site, log, 'after the load')
  for (const until = Date.now() + 120_000; Date.now() < until; await sleep(1_000)) {
    const [row] = await site.database.query(settledSql)
    if (row?.['settled'] === 't') break
  }
  const idle: number[] = []
  for (let i = 0; i < windows; i++) idle.push(await spentIn(site, log, 'idle'))
  return [
    toFigure('processor time a second, after a load', [after]),
    toFigure('processor time a second, idle service', idle),
  ]
}

/** Milliseconds of a processor in each second: the service and its connections to the database. */
async function spentIn({ server, database }: Site, log: (text: string) => void, when: string): Promise<number> {
  const from = exactCpuSeconds(server.pid)
  const { own } = await withOwnSeconds(database, () => sleep(windowSeconds * 1_000))
  const service = millisPerSecond(exactCpuSeconds(server.pid) - from)
  const connections = millisPerSecond(own.writer + own.others)
  log(`${when}: ${service.toFixed(1)} ms of the service and ${connections.toFixed(1)} ms of the database a second`)
  return service + connections
}

function millisPerSecond(spentSeconds: number): number {
  return (spentSeconds / windowSeconds) * 1_000
}
