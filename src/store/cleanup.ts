/**
 * Deletes expired rows, by the database's clock, in small batches. Of several processes one cleans up, the others skip. This file
 * names every table of the service: either its rows expire, or a reason says why they stay.
 */
import { deleteEndedSecrets } from './apps.ts'
import { deleteOldLines } from './books/processor-lines.ts'
import type { Database, Transaction } from './connection/database.ts'
import { deleteOldEvents } from './events/number-events.ts'
import { locks, runInSteps } from './locks.ts'
import { deletePendingTotp } from './operators.ts'

/** Small steps hold few locks, and keep the database usable while it catches up after a long pause. */
const batchSize = 1_000

const dayMs = 24 * 60 * 60_000

type Ending = {
  readonly key: string
  /** The column with the end of the row. An index starts with it, unless operators make the rows by hand. */
  readonly end: string
  /** How long a row is kept after its end. */
  readonly keepMs: number
}

/** Tables whose rows expire. */
export const ending: Readonly<Record<string, Ending>> = {
  // The account page lists the browsers that used the wallet in the last day.
  widget_sessions: { key: 'token_hash', end: 'expires_at', keepMs: dayMs },
  devices: { key: 'id', end: 'expires_at', keepMs: 0 },
  link_codes: { key: 'code_hash', end: 'expires_at', keepMs: 0 },
  code_handles: { key: 'handle_hash', end: 'expires_at', keepMs: 0 },
  // Only processes of the release before code_handles write here.
  mailed_codes: { key: '(email, purpose)', end: 'expires_at', keepMs: 0 },
  email_changes: { key: 'user_id', end: 'expires_at', keepMs: 0 },
  sign_ups: { key: 'email', end: 'expires_at', keepMs: 0 },
  paper_links: { key: 'token_hash', end: 'expires_at', keepMs: 0 },
  limits: { key: 'key', end: 'ends_at', keepMs: 0 },
  operator_sessions: { key: 'id', end: 'ends_at', keepMs: 0 },
  operator_invites: { key: 'token_hash', end: 'expires_at', keepMs: 0 },
  oidc_starts: { key: 'state_hash', end: 'expires_at', keepMs: 0 },
  // The overview shows the last day.
  minutes: { key: '(minute, process)', end: 'minute', keepMs: 2 * dayMs },
  // The page of an app shows the last week, and when each answer last occurred.
  app_calls: { key: '(client_id, hour, route, code)', end: 'hour', keepMs: 31 * dayMs },
  // The page of an app shows which secrets were refused, from which addresses. Addresses are not kept longer.
  refused_credentials: { key: '(client_id, cause, fingerprint, address)', end: 'last_at', keepMs: 31 * dayMs },
  // Long after the last attempt. Until then the row prevents a second mail of the notification.
  mails: { key: 'fact', end: 'created_at', keepMs: 30 * dayMs },
  // An operator sees here why it failed, and can run it again. Work that waits or runs has no given_up_at.
  work: { key: '(kind, key)', end: 'given_up_at', keepMs: 30 * dayMs },
  // Processors stop resending an event after a few days.
  processor_events: { key: 'id', end: 'received_at', keepMs: 90 * dayMs },
  // For operators who investigate a reference. Money depends only on the outcome, which stays.
  repeats: { key: '(reference_key, wallet_id, amount)', end: 'first_at', keepMs: 90 * dayMs },
}

/** Tables whose rows stay, and why their growth is bounded or necessary. */
export const staying: Readonly<Record<string, string>> = {
  transfers: 'the ledger: nothing of it ever goes',
  outcomes: 'a reference is answered again for ever',
  archives: 'one per archived period; archive restore deletes it',
  closings: 'made by people; each leaves two tables of the ledger, closed_transfers_<id> and closed_outcomes_<id>',
  closed_references: 'two bytes for each reference of a closed period',
  holds: 'a hold is answered again for ever, and entries lead to it',
  hold_steps: 'what happened to a hold is never removed, and the database refuses to',
  audit: 'who did what is never removed, and the database refuses to',
  settlements: 'what was paid out to an app is never removed, and the database refuses to',
  app_links: 'one row for each app',
  operator_forms: 'the id of an order binds its content for ever; made by people',
  operator_identities: 'one for each operator at most',
  corrections: 'made by people, and entries of the ledger lead to them',
  wallets: 'one for each user; of a deleted user it keeps the books whole',
  users: 'one for each person; a deleted one has no name left, but entries that lead to it',
  links: 'every entry of an app has its link, and a disconnected one is known to be so',
  topups: 'what was paid by card, for refunds and disputes that come late',
  topup_movements: 'which entries a top-up made',
  processor_lines: 'those of the last PROCESSOR_LINES_DAYS, and of payments that differ: see deleteOldLines',
  reconciliation_days: 'one row for each day',
  reconciliation_differences: 'what people had to look into',
  report_contradictions: 'what people had to look into; a file or a day adds a hundred at most',
  positions: 'one row for each account and day, once the day is over: see merge-positions',
  apps: 'made by people, and every entry of theirs leads to it',
  app_secrets: 'the living ones; those that ended go after 90 days, see deleteEndedSecrets',
  app_secret_uses: 'one for each secret, and goes with it',
  new_links: 'goes with the first payment, or after thirty days: see new-links',
  notes: 'written by people, and go with the account they are about',
  reference_types: '200 for each app at most',
  verified_wallets: 'one for each wallet',
  mail_settings: 'one for each user at most',
  user_addresses: 'twenty for each user at most',
  user_deletions: 'made by people; who asked and who approved',
  operators: 'made by people; the audit log leads to them',
  operator_changes: 'made by people; who asked and who approved',
  operator_grants: 'made by people; they say who may approve what an operator asked for',
  operator_addresses: 'twenty for each operator at most',
  operator_recovery_codes: 'ten for each operator at most',
  sandbox_payments: 'play payments of a development database, which refunds look at',
  journal: 'what has its number goes after EVENTS_DAYS: see deleteOldEvents',
  event_pages: 'those of the last EVENTS_DAYS: see deleteOldEvents',
  event_cursors: 'one for each connection that writes at a time',
  event_heads: 'one for each app at most',
  stalled_journal: 'rows of an app with a row that cannot become events, until an operator repairs that row',
  endpoints: 'made by people, five for each app at most',
  endpoint_attempts: 'the last thousand of each endpoint',
  wallet_heads: 'one for each wallet; without it no entry of the wallet can be proven',
  wallet_subtrees: 'one for 256 entries of a wallet',
  log_leaves: 'what was sealed is never removed, and the database refuses to',
  log_subtrees: 'one for 256 leaves of the log',
  log_days: 'one row for each day; the database refuses to remove it',
  log_checkpoints: 'signed states of the log, one for each pass; the database refuses to remove them',
  log_incarnations: 'one for each restore, move or failover; the database refuses to remove it',
  log_publications: 'one for each target that CHECKPOINTS ever named',
  log_state: 'one row',
  apps_version: 'one row',
  books_check: 'one row',
  billfold_migrations: 'one row for each migration',
}

/** Returns the number of deleted rows; 0 also when another process is cleaning up. */
export async function deleteExpired(
  db: Database,
  keep: Kept = { processorLinesDays: 730, eventsDays: 30 },
): Promise<number> {
  return await runInSteps(db, locks.cleanup, (tx) => deleteSome(tx, keep))
}

/** Retention from the settings. */
type Kept = { readonly processorLinesDays: number; readonly eventsDays: number }

/** Each step covers every table, so a process that skips can rely on the other one to clean all of them. */
async function deleteSome(tx: Transaction, { processorLinesDays, eventsDays }: Kept): Promise<number> {
  let deleted = 0
  for (const [table, each] of Object.entries(ending)) deleted += await deleteFrom(tx, table, each)
  deleted += await deleteOldLines(tx, processorLinesDays, batchSize)
  deleted += await deleteOldEvents(tx, eventsDays, batchSize)
  return deleted + (await deleteEndedSecrets(tx)) + (await deletePendingTotp(tx))
}

async function deleteFrom(tx: Transaction, table: string, { key, end, keepMs }: Ending): Promise<number> {
  const isOver = `${end} <= now() - $1 * interval '1 ms'`
  const columns = key.replace(/[()]/g, '')
  const { rowCount } = await tx.query(
    `delete from ${table} where ${key} in (select ${columns} from ${table} where ${isOver} order by ${end} limit ${batchSize})
       and ${isOver}`,
    [keepMs],
  )
  return rowCount ?? 0
}
