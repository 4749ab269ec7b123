/** Mails that tell a user what happened: a row for each fact, until it is sent and for a while after. */
import type { Queryable } from './connection/database.ts'

export type NewMail = {
  /** The fact's own key: of two that tell the same, one is kept. */
  readonly fact: string
  readonly userId: string
  readonly kind: string
  readonly detail: object
  /** Undefined: to the user's own address. */
  readonly email?: string | undefined
  readonly language?: string | undefined
  /** Of this kind to this user. */
  readonly maxADay: number
}

/** A mail server that is away for a day must not fill the database. */
const maxWaiting = 10_000

/** False when the fact is told already, too many wait, or the user was told enough for a day, or is deleted. */
export async function insertMail(db: Queryable, mail: NewMail): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into mails (fact, user_id, kind, detail, email, language)
     select $1, id, $3, $4, $5, $6 from users where id = $2 and email is not null
       and (select count(*) from (select 1 from mails where due_at is not null limit ${maxWaiting}) waiting) < ${maxWaiting}
       and (select count(*) from mails where user_id = $2 and kind = $3 and created_at > now() - interval '1 day') < $7
     on conflict (fact) do nothing`,
    [
      mail.fact,
      mail.userId,
      mail.kind,
      JSON.stringify(mail.detail),
      mail.email ?? null,
      mail.language ?? null,
      mail.maxADay,
    ],
  )
  return rowCount === 1
}

export type DueMail = {
  readonly fact: string
  readonly userId: string
  readonly detail: object
  readonly email: string | null
  readonly language: string | null
  readonly tries: number
}

/**
 * Takes mails that are due, each for one process and for good: due_at is null before anything is sent, so a process that dies on
 * the way loses a mail, and never sends one twice.
 */
export async function claimDueMails(db: Queryable, limit: number): Promise<DueMail[]> {
  const { rows } = await db.query<DueMail>(
    `update mails set due_at = null, tries = tries + 1 where fact in (
       select fact from mails where due_at <= now() order by due_at limit $1 for update skip locked)
     returning fact, user_id as "userId", detail, email, language, tries`,
    [limit],
  )
  return rows
}

/** Only for a mail that no mail server has taken. False when it is too old to be news. */
export async function updateMailDue(
  db: Queryable,
  fact: string,
  { afterMs, withinMs }: { afterMs: number; withinMs: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update mails set due_at = now() + $2 * interval '1 ms'
     where fact = $1 and due_at is null and created_at > now() - $3 * interval '1 ms'`,
    [fact, afterMs, withinMs],
  )
  return rowCount === 1
}

export type KeptMail = {
  readonly fact: string
  readonly kind: string
  readonly createdAt: Date
  /** When it is tried next; null once it was handed to the mail server, or given up. */
  readonly dueAt: Date | null
  readonly tries: number
}

/** Newest first, of those that are still kept. */
export async function listMailsOfUser(db: Queryable, userId: string, limit: number): Promise<KeptMail[]> {
  const { rows } = await db.query<KeptMail>(
    `select fact, kind, created_at as "createdAt", due_at as "dueAt", tries from mails
     where user_id = $1 order by created_at desc, fact limit $2`,
    [userId, limit],
  )
  return rows
}

/** Due once more, as if it were new; its kind. Undefined when it is due already, or is not a mail of this user. */
export async function updateMailAgain(db: Queryable, userId: string, fact: string): Promise<string | undefined> {
  const { rows } = await db.query<{ kind: string }>(
    `update mails set due_at = now(), tries = 0, created_at = now()
     where fact = $1 and user_id = $2 and due_at is null returning kind`,
    [fact, userId],
  )
  return rows[0]?.kind
}

/* Who reads it. */

export const mailChoices = ['receipts', 'payments', 'sign-ins'] as const
/** The kinds of mail that a user can do without. */
export type MailChoice = (typeof mailChoices)[number]

export type MailReader = {
  readonly email: string
  readonly firstName: string
  /** The one they chose. */
  readonly language: string | null
  /** Of the page they signed in on last. */
  readonly pageLanguage: string | null
  readonly stopped: readonly MailChoice[]
}

/** Undefined of a user who is deleted. */
export async function findMailReader(db: Queryable, userId: string): Promise<MailReader | undefined> {
  const { rows } = await db.query<MailReader>(
    `select u.email, u.first_name as "firstName", u.language, s.language as "pageLanguage",
       coalesce(s.stopped, '{}') as stopped
     from users u left join mail_settings s on s.user_id = u.id where u.id = $1 and u.email is not null`,
    [userId],
  )
  return rows[0]
}

/** What is stopped after the change: `isWanted` brings a kind back. Undefined of a user who is deleted. */
export async function updateMailChoice(
  db: Queryable,
  userId: string,
  choice: MailChoice,
  isWanted: boolean,
): Promise<readonly MailChoice[] | undefined> {
  const { rows } = await db.query<{ stopped: MailChoice[] }>(
    `insert into mail_settings as s (user_id, stopped)
     select id, case when $3 then '{}'::text[] else array[$2::text] end from users where id = $1 and email is not null
     on conflict (user_id) do update set
       stopped = case when $3 then array_remove(s.stopped, $2) else array_append(array_remove(s.stopped, $2), $2) end
     returning stopped`,
    [userId, choice, isWanted],
  )
  return rows[0]?.stopped
}

/** Writes only what is new, for people sign in far more often than they change the language. */
export async function upsertMailLanguage(db: Queryable, userId: string, language: string): Promise<void> {
  await db.query(
    `insert into mail_settings as s (user_id, language) values ($1, $2)
     on conflict (user_id) do update set language = excluded.language where s.language is distinct from excluded.language`,
    [userId, language],
  )
}
