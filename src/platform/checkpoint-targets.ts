/** The setting CHECKPOINTS: where signed states of the log are published. */
import { createHash } from 'node:crypto'
import { isAbsolute, normalize } from 'node:path'

export type CheckpointTarget = {
  /** A file holds the newest checkpoint, a folder all of them, and an address gets them posted. */
  readonly kind: 'file' | 'folder' | 'address'
  readonly place: string
  /** Names the target in the database, where the address would show its token. */
  readonly id: string
}

/** Each has its own lane in every process. */
const maxTargets = 8

export const targetsInWords = `write whole paths (a folder ends with /) and https addresses without a user, each once, at most ${maxTargets}, with commas`

/** Undefined if one of them is none. A folder ends with a slash. */
export function parseTargets(text: string): readonly CheckpointTarget[] | undefined {
  const targets = text.split(',').map((each) => parseTarget(each.trim()))
  if (!targets.every((target) => target !== undefined)) return undefined
  const isRepeated = new Set(targets.map(({ id }) => id)).size < targets.length
  return isRepeated || targets.length > maxTargets ? undefined : targets
}

function parseTarget(text: string): CheckpointTarget | undefined {
  if (/\p{C}/u.test(text)) return undefined
  if (isAbsolute(text)) {
    const place = normalize(text)
    return place === '/' ? undefined : named(place.endsWith('/') ? 'folder' : 'file', place)
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['https:', 'http:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    return undefined
  return named('address', url.href)
}

function named(kind: CheckpointTarget['kind'], place: string): CheckpointTarget {
  return { kind, place, id: createHash('sha256').update(place).digest('hex').slice(0, 16) }
}

export const isPlainHttp = ({ kind, place }: CheckpointTarget) => kind === 'address' && place.startsWith('http:')
