/** Mails that notify a user: one row for each notification, kept for a month. */
import type { Queryable } from './connection/database.ts'
import { addWork } from './work/work.ts'
import { maybe } from './connection/rows.ts'

export type NewMail = {
  /** The notification's unique key: of two mails with the same key, only one is stored. */
  readonly fact: string
  readonly userId: string
  readonly kind: string
  readonly detail: object
  /** Default: the user's current address. */
  readonly email?: string | undefined
  readonly language?: string | undefined
  /** The limit of mails of this kind to this user. */
  readonly maxADay: number
}

/** A mail server outage of a day must not fill the database. */
const maxWaiting = 10_000

const isWaitingSql = `w.kind = 'send-mail' and w.given_up_at is null`

/** Does nothing when the mail exists, too many wait, or the user is deleted or got enough mails of this kind today. */
export async function insertMail(db: Queryable, mail: NewMail): Promise<void> {
  const { rowCount } = await db.query(
    `insert into mails (fact, user_id, kind, detail, email, language, due_at)
     select $1, id, $3, $4, $5, $6, null from users where id = $2 and email is not null
       and (select count(*) from (select 1 from work w where ${isWaitingSql} limit ${maxWaiting}) waiting) < ${maxWaiting}
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
  if (rowCount === 1) await addWork(db, { kind: 'send-mail', key: mail.fact })
}

export type SentMail = {
  readonly userId: string
  readonly detail: object
  readonly email: string | null
  readonly language: string | null
  readonly ageMs: number
}

/** Counts the attempt. Undefined when the mail no longer exists, because its user is deleted. */
export async function updateMailTried(db: Queryable, fact: string): Promise<SentMail | undefined> {
  const { rows } = await db.query<SentMail>(
    `update mails set tries = tries + 1 where fact = $1
     returning user_id as "userId", detail, email, language, extract(epoch from now() - created_at)::float8 * 1000 as "ageMs"`,
    [fact],
  )
  return maybe(rows)
}

export type KeptMail = {
  readonly fact: string
  readonly kind: string
  readonly createdAt: Date
  /** The time of the next attempt; null after the mail was sent or given up. */
  readonly dueAt: Date | null
  readonly tries: number
}

/** Newest first. */
export async function listMailsOfUser(db: Queryable, userId: string, limit: number): Promise<KeptMail[]> {
  const { rows } = await db.query<KeptMail>(
    `select m.fact, m.kind, m.created_at as "createdAt", w.due_at as "dueAt", m.tries
     from mails m left join work w on w.key = m.fact and ${isWaitingSql}
     where m.user_id = $1 order by m.created_at desc, m.fact limit $2`,
    [userId, limit],
  )
  return rows
}

/** Makes the mail due again, like a new one, and returns its kind. Undefined when it is already waiting, or is not a mail of this user. */
export async function updateMailAgain(db: Queryable, userId: string, fact: string): Promise<string | undefined> {
  const { rows } = await db.query<{ kind: string }>(
    `update mails m set tries = 0, created_at = now() where m.fact = $1 and m.user_id = $2
       and not exists (select from work w where w.key = m.fact and ${isWaitingSql}) returning m.kind`,
    [fact, userId],
  )
  const mail = maybe(rows)
  if (mail) await addWork(db, { kind: 'send-mail', key: fact })
  return mail?.kind
}

/* The reader of a mail. */

export const mailChoices = ['receipts', 'payments', 'sign-ins'] as const
/** The kinds of mail that a user can stop. */
export type MailChoice = (typeof mailChoices)[number]

export type MailReader = {
  readonly email: string
  readonly firstName: string
  /** The language the user chose. */
  readonly language: string | null
  /** The language of the page of their last sign-in. */
  readonly pageLanguage: string | null
  readonly stopped: readonly MailChoice[]
}

/** Undefined for a deleted user. */
export async function findMailReader(db: Queryable, userId: string): Promise<MailReader | undefined> {
  const { rows } = await db.query<MailReader>(
    `select u.email, u.first_name as "firstName", u.language, s.language as "pageLanguage",
       coalesce(s.stopped, '{}') as stopped
     from users u left join mail_settings s on s.user_id = u.id where u.id = $1 and u.email is not null`,
    [userId],
  )
  return maybe(rows)
}

/** Returns the stopped kinds after the change; `isWanted` resumes a kind. Undefined for a deleted user. */
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
  return maybe(rows)?.stopped
}

/** Writes only a change: users sign in far more often than they change the language. */
export async function upsertMailLanguage(db: Queryable, userId: string, language: string): Promise<void> {
  await db.query(
    `insert into mail_settings as s (user_id, language) values ($1, $2)
     on conflict (user_id) do update set language = excluded.language where s.language is distinct from excluded.language`,
    [userId, language],
  )
}
