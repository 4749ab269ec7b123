/** Does the service stay small? Its resident memory, sampled every second, under a continuous load. */
import { runRound, type Site, type Stage } from './stage.ts'
import type { Job } from './job.ts'
import { median } from './rounds.ts'
import { usageOf } from './usage.ts'

export type Memory = {
  readonly seconds: number
  readonly samplesMb: readonly number[]
  readonly endMb: number
  /** The last sixth of the samples divided by the sixth after the first third, when everything is warm. */
  readonly growth: number
}

export async function watchMemory(stage: Stage, site: Site, job: Omit<Job, 'mark'>): Promise<Memory> {
  const samplesMb: number[] = []
  const sample = () => samplesMb.push(Math.round(usageOf(site.server.pid).rssBytes / 1e5) / 10)
  const timer = setInterval(sample, 1000)
  await runRound(stage, 'memory', site.server, job, site.acknowledged).finally(() => clearInterval(timer))
  sample()
  const sixth = Math.max(1, Math.floor(samplesMb.length / 6))
  const endMb = median(samplesMb.slice(-sixth))
  return { seconds: job.seconds, samplesMb, endMb, growth: endMb / median(samplesMb.slice(2 * sixth, 3 * sixth)) }
}
