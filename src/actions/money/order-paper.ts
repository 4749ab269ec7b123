/**
 * Receipts, statements and data for users, each behind a link that works once and carries no session. The link ends with the session
 * and the device it was ordered with, so signing out ends it.
 */
import { aboveArchive } from '../../store/closing/archived-entries.ts'
import { deletePaperLink, insertPaperLink, type PaperLink } from '../../store/paper-links.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { listTransfersUpwards } from '../../store/transfers.ts'
import { takeLimit, papers, type Limited } from '../limits.ts'
import { hasProof, maySee, type UserProof } from '../people/proofs.ts'
import type { Service, WithDb } from '../service.ts'
import { hashSecret, newPaperToken } from '../tokens.ts'
import type { AskedFilter } from './activity-filter.ts'
import { describeTransfers, type ActivityEntry } from './read-activity.ts'

export type Paper = {
  readonly lang: string
  /** IANA name of the time zone in which the page shows times. */
  readonly timeZone: string
} &
  /** A page, or the proof of its entry as a file. */
  (
    | { readonly kind: 'receipt' | 'proof'; readonly sequence: number }
    /** A page, or a file for a spreadsheet; the month, such as `2026-11`, is a month of the time zone. */
    | { readonly kind: 'statement' | 'statement-file'; readonly month: string }
    /** The entries that a search found, with a sequence lower than `before`, as of the order `at`: the file has the entries of the page. */
    | {
        readonly kind: 'selection' | 'selection-file'
        readonly filter: AskedFilter
        readonly before: number
        readonly at: string
      }
    /** The export of the user's data: a page that links to the file, and the file. */
    | { readonly kind: 'data' | 'data-file' }
  )

/** The browser follows this link at once. */
const lifetimeMs = 2 * 60_000
/** This link waits in a page until the user clicks it. */
const fileLifetimeMs = 15 * 60_000

export type PaperOrder =
  | Limited
  | { readonly kind: 'ordered'; readonly token: string }
  | { readonly kind: 'unproved'; readonly needed: UserProof }
  /** A receipt of a transaction that does not exist. */
  | { readonly kind: 'unknown' }
  /** It needs entries that are in the archive. */
  | { readonly kind: 'archived' }

export async function orderPaper(service: Service, session: Session, paper: Paper): Promise<PaperOrder> {
  if (paper.kind !== 'receipt') {
    const needed = paper.kind === 'data' ? 'presence' : 'person'
    if (!hasProof(session, needed)) return { kind: 'unproved', needed }
  }
  const limited = await takeLimit(service, papers, session.userId)
  if (limited) return limited
  if (paper.kind === 'receipt') {
    const entry = await findEntry(service, session.userId, paper.sequence)
    if (entry === 'archived') return { kind: 'archived' }
    if (!entry) return { kind: 'unknown' }
    if (!maySee(session, entry)) return { kind: 'unproved', needed: 'person' }
  }
  const { userId, tokenHash: sessionHash, deviceId } = session
  return { kind: 'ordered', token: await newLink(service, { userId, sessionHash, deviceId, paper }, lifetimeMs) }
}

/**
 * Makes a link to the file of an open statement, selection or data page. A window that a sandboxed frame opens cannot start a download
 * itself; a link on the page in it can.
 */
export async function orderFile(service: WithDb, ordered: OrderedPaper): Promise<string | undefined> {
  const { userId, sessionHash, deviceId } = ordered
  const paper = fileOf(ordered.paper)
  if (!paper) return undefined
  return paperPath(await newLink(service, { userId, sessionHash, deviceId, paper }, fileLifetimeMs))
}

function fileOf(paper: Paper): Paper | undefined {
  if (paper.kind === 'statement') return { ...paper, kind: 'statement-file' }
  if (paper.kind === 'selection') return { ...paper, kind: 'selection-file' }
  return paper.kind === 'data' ? { ...paper, kind: 'data-file' } : undefined
}

/** Makes a link to the proof of an entry of an open receipt or statement. */
export async function orderProof(service: WithDb, ordered: OrderedPaper, sequence: number): Promise<string> {
  const { userId, sessionHash, deviceId, paper } = ordered
  const proof = { kind: 'proof', sequence, lang: paper.lang, timeZone: paper.timeZone } as const
  return paperPath(await newLink(service, { userId, sessionHash, deviceId, paper: proof }, fileLifetimeMs))
}

export function paperPath(token: string): string {
  return `/widget/papers/${token}`
}

async function newLink(service: WithDb, link: PaperLink, lifetimeMs: number): Promise<string> {
  const token = newPaperToken()
  await insertPaperLink(service.db.pool, { ...link, tokenHash: hashSecret(token), lifetimeMs })
  return token
}

export type OrderedPaper = Omit<PaperLink, 'paper'> & {
  readonly firstName: string
  readonly lastName: string
  readonly paper: Paper
}

/** Undefined when the link was used, has expired, never existed, or its session or device was signed out. */
export async function takePaper(service: WithDb, token: string): Promise<OrderedPaper | undefined> {
  const found = await deletePaperLink(service.db.pool, hashSecret(token))
  return found && { ...found, paper: found.paper as Paper }
}

export async function findEntry(
  service: Service,
  userId: string,
  sequence: number,
): Promise<ActivityEntry | 'archived' | undefined> {
  const found = await listTransfersUpwards(service.db.pool, userId, { from: sequence, to: sequence, limit: 1 })
  if (found.length > 0) return (await describeTransfers(service, userId, found))[0]
  return (await aboveArchive(service.db.pool, userId, sequence)).hasArchived ? 'archived' : undefined
}
