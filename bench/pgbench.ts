/** PostgreSQL's own benchmark program with TPC-B, the debit and credit of 1985. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import type { Cluster } from './cluster.ts'
import { withCost } from './cost.ts'
import type { Round } from './rounds.ts'

export type Pgbench = { readonly version: string; readonly measure: (seconds: number) => Promise<Round> }

export const pgbenchMissing =
  'pgbench was not found on PATH or in /usr/lib/postgresql/*/bin: the comparison with TPC-B is left out. ' +
  'It comes with PostgreSQL (Debian: apt install postgresql-contrib; macOS: brew install postgresql).'

/** Fifty branches, so that 32 clients rarely wait for the same one: TPC-B at its best. */
const scale = 50
const clients = 32

export async function preparePgbench(cluster: Cluster): Promise<Pgbench | undefined> {
  const program = findProgram()
  if (!program) return undefined
  const database = await cluster.openDatabase('pgbench')
  const { host, port, user } = database.connection
  let clientSeconds = 0
  const run = async (args: string[]) => {
    const child = Bun.spawn([program, '-h', String(host), '-p', String(port), '-U', String(user), ...args, 'pgbench'], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    if ((await child.exited) !== 0) throw new Error(`pgbench failed: ${faults.slice(-500)}`)
    clientSeconds += Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
    return output
  }
  await run(['-i', '-q', '-s', String(scale)])
  return {
    version: spawnSync(program, ['--version']).stdout.toString().trim(),
    measure: async (seconds) => {
      // pgbench vacuums its small tables before each run, as its documentation recommends.
      const whole = String(Math.max(1, Math.round(seconds)))
      const { result: output, cores } = await withCost(
        cluster,
        'pgbench',
        () => clientSeconds,
        () => run(['-c', String(clients), '-j', '2', '-M', 'prepared', '-T', whole]),
        () => 0,
      )
      const tps = /^tps = ([\d.]+)/m.exec(output)?.[1]
      if (!tps) throw new Error(`pgbench answered in an unknown way:\n${output}`)
      return { name: 'pgbench', perSecond: Number(tps), ...cores }
    },
  }
}

function findProgram(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : []
  return ['pgbench', ...versions.map((version) => `${debian}/${version}/bin/pgbench`)].find(
    (program) => spawnSync(program, ['--version']).status === 0,
  )
}
