/** The processor time of a piece of work: ours, the database's, and that of the rest of the machine. */
import type { Cluster } from './cluster.ts'
import type { Round } from './rounds.ts'
import { machineCpuSeconds } from './usage.ts'

type Cores = Pick<Round, 'serverCores' | 'databaseCores' | 'otherCores'>

/** `cpuSeconds` reads the processor time of the server under load. `ours` returns the processors that the rest of the run used. */
export async function withCost<T>(
  cluster: Cluster,
  cpuSeconds: () => number,
  work: () => Promise<T>,
  ours: (result: T, seconds: number) => number,
): Promise<{ result: T; cores: Cores }> {
  const read = () => [performance.now() / 1000, cpuSeconds(), cluster.cpuSeconds(), machineCpuSeconds()] as const
  const before = read()
  const bench = process.cpuUsage()
  const result = await work()
  const after = read()
  const [seconds, server, database, machine] = after.map((value, i) => value - before[i]!) as [
    number,
    number,
    number,
    number,
  ]
  const { user, system } = process.cpuUsage(bench)
  const known = server + database + ours(result, seconds) + (user + system) / 1e6
  return {
    result,
    cores: {
      serverCores: server / seconds,
      databaseCores: database / seconds,
      otherCores: Math.max(0, (machine - known) / seconds),
    },
  }
}
