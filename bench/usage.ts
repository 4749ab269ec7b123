/** Memory and processor time of a process, as the system reports them. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

export type Usage = { readonly rssBytes: number; readonly cpuSeconds: number }

export function usageOf(pid: number): Usage {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
}

/** The clock ticks of /proc are hundredths of a second on every Linux that runs Bun; the system reports the page size. */
const pageBytes = process.platform === 'linux' ? Number(spawnSync('getconf', ['PAGESIZE']).stdout) : 0

function fromProc(pid: number): Usage {
  const fields = statOf(String(pid))
  return { cpuSeconds: (fields[11]! + fields[12]!) / 100, rssBytes: fields[21]! * pageBytes }
}

/** The fields from the parent's pid (1) on. The name before them, in parentheses, may contain spaces. */
function statOf(pid: string): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

/** A process and its children, including ended ones; NaN without /proc. */
export function familyCpuSeconds(pid: number): number {
  if (process.platform !== 'linux' || Number.isNaN(pid)) return Number.NaN
  let total = ticks(statOf(String(pid)), 11, 15)
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = statOf(name)
      if (fields[1] === pid) total += ticks(fields, 11, 13)
    } catch {
      // It ended in the meantime; its time is now in the parent's.
    }
  }
  return total / 100
}

/** With its workers, where the system reports them. */
export function serviceCpuSeconds(pid: number): number {
  return process.platform === 'linux' ? familyCpuSeconds(pid) : usageOf(pid).cpuSeconds
}

function fromPs(pid: number): Usage {
  const [rss = '0', time = '0'] = spawnSync('ps', ['-o', 'rss=,time=', '-p', String(pid)])
    .stdout.toString()
    .trim()
    .split(/\s+/)
  const cpuSeconds = time.split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0)
  return { rssBytes: Number(rss) * 1024, cpuSeconds }
}

function ticks(fields: readonly number[], from: number, to: number): number {
  return fields.slice(from, to).reduce((a, b) => a + b, 0)
}

/** All processors together, since the machine started. */
export function machineCpuSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000
}

/** Of all threads of a process, in nanoseconds of the scheduler and not in hundredths of a second; NaN without /proc. */
export function exactCpuSeconds(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const nanoseconds = (thread: string) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
    return threads.reduce((sum, thread) => sum + nanoseconds(thread), 0) / 1e9
  } catch {
    // It ended in the meantime.
    return 0
  }
}
