/** The newest checkpoint that a file or a folder of CHECKPOINTS has. It shows that the database went back. */
import type { Config } from '../../config.ts'
import { inTime } from '../../platform/in-time.ts'
import type { LogState } from '../../store/proofs/proof-log.ts'
import { readNewestFile } from './checkpoint-files.ts'
import type { Sealing } from './checkpoint.ts'
import { readOwnCheckpoint, type OwnCheckpoint } from './own-checkpoint.ts'

/** A read of a mount that hangs cannot be cancelled: callers do not wait for longer, and the next read begins later. */
const readWithinMs = 3_000
const goodForMs = 5 * 60_000

type Seen = { readonly id: string; readonly at: number; readonly newest: OwnCheckpoint | undefined }
const seen = new WeakMap<Config, Seen>()

/** What was read last, of the log under this name and signed by it. */
export function knownOutside({ config }: Pick<Sealing, 'config'>, { id }: LogState): OwnCheckpoint | undefined {
  const known = seen.get(config)
  return known?.id === id ? known.newest : undefined
}

/** Reads it, unless it was read within the last minutes. */
export async function readOutside(sealing: Sealing, log: LogState): Promise<void> {
  const { config } = sealing
  const known = seen.get(config)
  if (log.sealedKey === null || (known?.id === log.id && performance.now() - known.at < goodForMs)) return
  const targets = config.checkpointTargets.filter(({ kind }) => kind !== 'address')
  const texts = await Promise.all(
    targets.map(async (target) => await inTime(readNewestFile(target, log.id), readWithinMs).catch(() => undefined)),
  )
  let newest: OwnCheckpoint | undefined
  for (const text of texts) {
    const own = text === undefined ? undefined : await readOwnCheckpoint(sealing, log, text)
    if (own && own.size > (newest?.size ?? 0)) newest = own
  }
  seen.set(config, { id: log.id, at: performance.now(), newest })
}
