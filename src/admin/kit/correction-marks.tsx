/** How corrections are shown: their state, and which entry corrects which. */
import { correctionType } from '../../ledger/reference.ts'
import type { Queryable } from '../../store/connection/database.ts'
import { listCorrectionsAbout, type Correction, type CorrectionState } from '../../store/corrections.ts'
import { isServiceOwn } from '../../store/outcomes.ts'
import type { Transfer } from '../../store/wallets.ts'
import { Badge } from './parts.tsx'

const states: Readonly<Record<CorrectionState, readonly ['' | 'good' | 'warn' | 'bad', string]>> = {
  waiting: ['warn', 'waiting'],
  approved: ['warn', 'being posted'],
  done: ['good', 'done'],
  refused: ['bad', 'refused by the ledger'],
  declined: ['', 'declined'],
  withdrawn: ['', 'withdrawn'],
}

export function CorrectionBadge({ state }: { state: CorrectionState }) {
  const [kind, text] = states[state]
  return <Badge kind={kind}>{text}</Badge>
}

/** The corrections that made these entries or correct them. */
export async function readCorrectionsOf(db: Queryable, entries: readonly Transfer[]): Promise<Correction[]> {
  return await listCorrectionsAbout(db, {
    ids: entries.flatMap((entry) => correctionIdOf(entry) ?? []),
    keys: entries.map((entry) => entry.referenceKey),
  })
}

function correctionIdOf(entry: Transfer): string | undefined {
  return entry.referenceType === correctionType && isServiceOwn(entry) ? entry.referenceId : undefined
}

type MarksProps = { corrections: readonly Correction[]; entry: Pick<Transfer, 'referenceKey' | 'referenceId'> }

/** Links in both directions: to the correction that made this entry, and to those that correct it. */
export function CorrectionMarks({ corrections, entry }: MarksProps) {
  return (
    <>
      {corrections.map((each) => {
        const isMaker = each.id === entry.referenceId
        if (!isMaker && each.corrects !== entry.referenceKey) return null
        return (
          <>
            <a key={each.id} href={`/admin/corrections/${each.id}`}>
              {isMaker
                ? each.corrects === null
                  ? 'correction'
                  : 'corrects a transaction'
                : each.state === 'done'
                  ? 'corrected'
                  : 'correction under way'}
            </a>{' '}
          </>
        )
      })}
    </>
  )
}
