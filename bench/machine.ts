/** The machine of a run: figures mean nothing without it. */
import { arch, cpus, platform, release, totalmem } from 'node:os'
import type { BenchDatabase } from './cluster.ts'
import type { Pgbench } from './pgbench.ts'

export type Machine = Readonly<Record<'processor' | 'memory' | 'system' | 'runtime' | 'postgres' | 'pgbench', string>>

export async function describeMachine(database: BenchDatabase, pgbench: Pgbench | undefined): Promise<Machine> {
  const [found] = await database.query(`select current_setting('server_version') as version`)
  return {
    processor: processorText(),
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${platform()} ${release()}`,
    runtime: `Bun ${Bun.version}`,
    postgres: `PostgreSQL ${found!['version']}`,
    pgbench: pgbench?.version ?? 'not found',
  }
}

/** Not every system reports the model. */
function processorText(): string {
  const model = cpus()[0]?.model ?? 'unknown'
  return model === 'unknown' ? `${cpus().length} × ${arch()}` : `${cpus().length} × ${model} (${arch()})`
}
