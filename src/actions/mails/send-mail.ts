/** Mail, sent in the background: how long a mail server takes must not tell whether there was a mail to send. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import type { Language } from '../../languages/languages.ts'
import { faultFields, type Log } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { newId } from '../tokens.ts'
import { fetchLogo, openLogoCache, type Logo } from '../fetch-logo.ts'
import { logoId, writeMail, type Letter, type WrittenMail } from './letter.ts'

/** A letter on its way to somebody, in their language. */
export type Mail = {
  readonly to: string
  readonly language: Language
  readonly letter: Letter
}

/**
 * `away`: no mail server has it, and another try may help. `unsure`: the connection was lost while one was taking it, so
 * that another try could be a second mail.
 */
export type Delivered = 'sent' | 'refused' | 'away' | 'unsure'

export type MailSender = {
  /** Soon, and again a few times if need be; for what people can ask for once more. */
  readonly send: (mail: Mail) => void
  readonly deliver: (mail: Mail) => Promise<Delivered>
  /** Does it in the background, and once more if it is asked for meanwhile; `close` waits for it. */
  readonly soon: (work: () => Promise<void>) => void
  /** Waits, for a while, until everything is sent. */
  readonly close: () => Promise<void>
}

const maxWaiting = 1_000
const maxAtOnce = 4
const retryAfterMs = [1_000, 5_000, 20_000]
const closeWithinMs = 5_000

type MailConfig = Pick<Config, 'mail' | 'about' | 'dataDir' | 'isProduction'>

export function openMail(config: MailConfig, log: Log, metrics: Pick<Metrics, 'mail'>): MailSender {
  const delivery = config.mail.smtpUrl ? smtp(config.mail.smtpUrl, config.mail.from) : intoFolder(config, log)
  const keepLogo = openLogoCache(fetchLogo)
  const closing = new AbortController()
  const waiting: Mail[] = []
  let running = 0
  let idle = Promise.withResolvers<void>()

  async function deliver({ to, language, letter }: Mail, tries = 1): Promise<Delivered> {
    try {
      const { about } = config
      const logo = about.logoUrl === undefined ? undefined : await keepLogo(about.logoUrl, performance.now())
      // Outlook shows no other pictures.
      const shown = logo && /png|jpeg/.test(logo.type) ? logo : undefined
      const written = writeMail(letter, { language, about, hasLogo: shown !== undefined })
      await delivery.send({ to, ...written, logo: shown, stopUrl: letter.stopUrl })
      metrics.mail('sent')
      return 'sent'
    } catch (error) {
      const result = resultOf(error)
      metrics.mail(result)
      log.warn('a mail was not sent', { result, tries, ...faultFields(error) })
      return result
    }
  }

  async function run(): Promise<void> {
    running++
    for (let mail = waiting.shift(); mail; mail = waiting.shift()) await deliverOrDrop(mail)
    if (--running === 0) idle.resolve()
  }

  async function deliverOrDrop(mail: Mail): Promise<void> {
    for (let tries = 1; ; tries++) {
      const result = await deliver(mail, tries)
      if (result === 'sent') return
      const pauseMs = retryAfterMs[tries - 1]
      const isLast = pauseMs === undefined || result === 'refused' || closing.signal.aborted
      if (isLast) return log.error('a mail was given up', { tries })
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  const turns = openTurns((error) => log.warn('mails wait for their turn', faultFields(error)))
  return {
    send: (mail) => {
      // People can ask for another; a mail server that is away must not fill the memory.
      if (waiting.length >= maxWaiting) return log.error('a mail was dropped: too many are waiting')
      waiting.push(mail)
      if (running === 0) idle = Promise.withResolvers()
      if (running < maxAtOnce) void run()
    },
    deliver,
    soon: turns.soon,
    close: async () => {
      closing.abort()
      if (running === 0) idle.resolve()
      await Promise.race([Promise.all([idle.promise, turns.end()]), sleep(closeWithinMs)])
      delivery.close()
    },
  }
}

/** One turn at a time; whatever is asked for during one is done by one more after it. */
function openTurns(onFault: (error: unknown) => void) {
  let next: (() => Promise<void>) | undefined
  let turn: Promise<void> | undefined
  async function run(): Promise<void> {
    while (next) {
      const work = next
      next = undefined
      await work().catch(onFault)
    }
    turn = undefined
  }
  return {
    soon: (work: () => Promise<void>): void => {
      next = work
      turn ??= run()
    },
    end: async (): Promise<void> => await turn,
  }
}

/**
 * What became of a mail whose sending failed. A mail server that answered no has not taken it; nor has one that was never
 * reached. Whoever lost the connection later than that cannot know.
 */
function resultOf(error: unknown): Exclude<Delivered, 'sent'> {
  const { responseCode, permanent, code, originalCode, timeoutType } = error as Record<string, unknown>
  if (typeof responseCode === 'number') return permanent === true ? 'refused' : 'away'
  if (code === 'EDNS' || code === 'ETLS' || code === 'EAUTH') return 'away'
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'].includes(String(originalCode ?? code))) return 'away'
  return /CONNECT|GREETING/.test(String(timeoutType)) ? 'away' : 'unsure'
}

type Envelope = WrittenMail & {
  readonly to: string
  readonly logo: Logo | undefined
  readonly stopUrl: string | undefined
}
type Delivery = { readonly send: (mail: Envelope) => Promise<void>; readonly close: () => void }

/** Only where there is a mail server to talk to: it is 30 ms of a start. */
function loadMailer() {
  return require('nodemailer') as typeof import('nodemailer')
}

function smtp(url: string, from: string): Delivery {
  const transport = loadMailer().createTransport({ url, ...waits }, { from })
  return {
    send: async ({ to, subject, text, html, logo, stopUrl }) => {
      // As an object the address is taken as it stands, and never read as a list or a name.
      const recipient = { name: '', address: to }
      const attachments = logo
        ? [
            {
              cid: logoId,
              filename: `logo.${logo.type.slice(6)}`,
              content: Buffer.from(logo.bytes),
              contentType: logo.type,
            },
          ]
        : []
      await transport.sendMail({ to: recipient, subject, text, html, attachments, headers: headersOf(stopUrl) })
    },
    close: () => transport.close(),
  }
}

/** With the second pair a mail program shows a button of its own, which posts to the address (RFC 8058). */
function headersOf(stopUrl: string | undefined): Record<string, string> {
  return {
    'auto-submitted': 'auto-generated',
    ...(stopUrl && { 'list-unsubscribe': `<${stopUrl}>`, 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' }),
  }
}

/** Whether the mail server lets us in: connects, encrypts and signs in as for a mail, and sends none. What it said, if it does not. */
export async function tryMailServer(smtpUrl: string): Promise<string | undefined> {
  const transport = loadMailer().createTransport({ url: smtpUrl, ...shortWaits })
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    transport.close()
  }
}

/** A mail server that says nothing must not hold one of the few that are sent at once for minutes. */
const waits = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 }
/** Somebody sits and waits for the answer. The limit that ends first is what they read, and the socket's says only "Timeout": it is the longest. */
const shortWaits = { connectionTimeout: 3_000, greetingTimeout: 3_000, socketTimeout: 5_000 }

/** Development without a mail server: the mail is two files, one for each part, and its text is shown in the log. */
function intoFolder({ mail: { from }, dataDir, isProduction }: MailConfig, log: Log): Delivery {
  const folder = resolve(dataDir, 'mail')
  return {
    send: async ({ to, subject, text, html, logo }) => {
      // Before anything is waited for, so that the files are named in the order in which the mails were sent.
      const id = newId()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, `${id}.txt`)
      await writeFile(join(folder, `${id}.html`), withLogo(html, logo), { mode: 0o600 })
      await writeFile(file, `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\n${text}\n`, { mode: 0o600 })
      log.info('mail', isProduction ? { file } : { file, to, subject, text })
    },
    close: () => {},
  }
}

/** A file has no attachments: the picture stands in its own place. */
function withLogo(html: string, logo: Logo | undefined): string {
  return logo
    ? html.replace(`cid:${logoId}`, `data:${logo.type};base64,${Buffer.from(logo.bytes).toString('base64')}`)
    : html
}
