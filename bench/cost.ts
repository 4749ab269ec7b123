/** The processor time of a piece of work: ours, the database's, and that of the rest of the machine. */
import { readOtherBackends } from './backends.ts'
import type { Cluster } from './cluster.ts'
import type { Round } from './rounds.ts'
import { machineCpuSeconds } from './usage.ts'

type Cores = Pick<Round, 'serverCores' | 'databaseCores' | 'otherCores'>

/**
 * `cpuSeconds` reads the processor time of the server under load. `ours` returns the processors that the rest of the run used. What the
 * connections to other databases than `database` cost, such as the jobs of a service that is not under load, is not the work's.
 */
export async function withCost<T>(
  cluster: Cluster,
  database: string | undefined,
  cpuSeconds: () => number,
  work: () => Promise<T>,
  ours: (result: T, seconds: number) => number,
): Promise<{ result: T; cores: Cores }> {
  const read = () => [performance.now() / 1000, cpuSeconds(), cluster.cpuSeconds(), machineCpuSeconds()] as const
  const others = database === undefined ? undefined : await readOtherBackends(cluster, database)
  const before = read()
  const bench = process.cpuUsage()
  const result = await work()
  const after = read()
  const ofOthers = others ? others.secondsSince() : 0
  const [seconds, server, whole, machine] = after.map((value, i) => value - before[i]!) as [
    number,
    number,
    number,
    number,
  ]
  const { user, system } = process.cpuUsage(bench)
  const known = server + whole + ours(result, seconds) + (user + system) / 1e6
  return {
    result,
    cores: {
      serverCores: server / seconds,
      databaseCores: (whole - ofOthers) / seconds,
      otherCores: Math.max(0, (machine - known) / seconds),
    },
  }
}
