/** Receipts and statements of a wallet's user, each behind a link that works once and carries no session. */
import { deletePaperLink, insertPaperLink } from '../../store/paper-links.ts'
import type { Session } from '../../store/people/widget-sessions.ts'
import { listTransfersUpwards } from '../../store/transfers.ts'
import { takeLimit, papers, type Limited } from '../limits.ts'
import type { Service } from '../service.ts'
import { hashSecret, newPaperToken } from '../tokens.ts'
import { describeTransfers, type ActivityEntry } from './read-activity.ts'

export type Paper = {
  readonly lang: string
  /** Which the page says its times in: an IANA name. */
  readonly timeZone: string
} & (
  | { readonly kind: 'receipt'; readonly sequence: number }
  /** On a page, or as a file for a spreadsheet; the month is `2026-11`, as it is in the time zone. */
  | { readonly kind: 'statement' | 'statement-file'; readonly month: string }
  /** Everything that is held about the user: a page that leads to the file, and the file. */
  | { readonly kind: 'data' | 'data-file' }
)

/** The browser follows the link by itself, at once. */
const lifetimeMs = 2 * 60_000
/** This one waits in a page until somebody presses it. */
const fileLifetimeMs = 15 * 60_000

export async function orderPaper(service: Service, session: Session, paper: Paper): Promise<string | Limited> {
  const limited = await takeLimit(service, papers, session.userId)
  return limited ?? (await newLink(service, session.userId, paper, lifetimeMs))
}

/**
 * The file of a statement, or of the user's data, that is open. What a sandboxed frame opens cannot be a download, whatever window it comes up in; the
 * page of the statement can begin one.
 */
export async function orderFile(service: Service, { userId, paper }: OrderedPaper): Promise<string | undefined> {
  if (paper.kind !== 'statement' && paper.kind !== 'data') return undefined
  const file: Paper = 'month' in paper ? { ...paper, kind: 'statement-file' } : { ...paper, kind: 'data-file' }
  return await newLink(service, userId, file, fileLifetimeMs)
}

async function newLink(service: Service, userId: string, paper: Paper, lifetimeMs: number): Promise<string> {
  const token = newPaperToken()
  await insertPaperLink(service.db.pool, { tokenHash: hashSecret(token), userId, paper, lifetimeMs })
  return token
}

export type OrderedPaper = {
  readonly userId: string
  readonly firstName: string
  readonly lastName: string
  readonly paper: Paper
}

/** Undefined when the link has been used, is too old or never was one. */
export async function takePaper(service: Service, token: string): Promise<OrderedPaper | undefined> {
  const found = await deletePaperLink(service.db.pool, hashSecret(token))
  return found && { ...found, paper: found.paper as Paper }
}

/** An entry of the user's own wallet. */
export async function findEntry(
  service: Service,
  userId: string,
  sequence: number,
): Promise<ActivityEntry | undefined> {
  const found = await listTransfersUpwards(service.db.pool, userId, { from: sequence, to: sequence, limit: 1 })
  return (await describeTransfers(service, userId, found))[0]
}
