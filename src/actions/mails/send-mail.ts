/** Sends mail in the background, so that the time a request takes does not show whether it sent a mail. */
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

/** A letter, its recipient, and the recipient's language. */
export type Mail = {
  readonly to: string
  readonly language: Language
  readonly letter: Letter
}

/**
 * `away`: the mail server was not reached or refused for now, so a retry may help. `unsure`: the connection broke while the
 * server accepted the mail, so a retry could send it twice.
 */
export type Delivered = 'sent' | 'refused' | 'away' | 'unsure'

export type MailSender = {
  /** Queues a mail in memory, with a few retries; for mails a user can request again. */
  readonly send: (mail: Mail) => void
  readonly deliver: (mail: Mail) => Promise<Delivered>
  /** Waits up to 5 seconds until everything is sent. */
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
      // Outlook shows no other image types.
      const shown = logo && /png|jpeg/.test(logo.type) ? logo : undefined
      const written = writeMail(letter, { language, about, hasLogo: shown !== undefined })
      await delivery.send({ to, ...written, logo: shown, stopUrl: letter.stopUrl, hasLink: letter.link !== undefined })
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

  return {
    send: (mail) => {
      // A mail server that is down must not fill the memory, and users can request these mails again.
      if (waiting.length >= maxWaiting) return log.error('a mail was dropped: too many are waiting')
      waiting.push(mail)
      if (running === 0) idle = Promise.withResolvers()
      if (running < maxAtOnce) void run()
    },
    deliver,
    close: async () => {
      closing.abort()
      if (running === 0) idle.resolve()
      await Promise.race([idle.promise, sleep(closeWithinMs)])
      delivery.close()
    },
  }
}

/**
 * The result of a failed attempt. A server that refused the mail, or that was never reached, does not have it. If the
 * connection broke later than that, the result is unknown.
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
  /** The text contains a link that gives access. */
  readonly hasLink: boolean
}
type Delivery = { readonly send: (mail: Envelope) => Promise<void>; readonly close: () => void }

/** Loaded only with a mail server configured: it adds 30 ms to the start. */
function loadMailer() {
  return require('nodemailer') as typeof import('nodemailer')
}

function smtp(url: string, from: string): Delivery {
  const transport = loadMailer().createTransport({ url, ...waits }, { from })
  return {
    send: async ({ to, subject, text, html, logo, stopUrl }) => {
      // As an object, the address is not parsed as a list or a name.
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

/** With the `list-unsubscribe` pair, mail programs show a button that posts to the address (RFC 8058). */
function headersOf(stopUrl: string | undefined): Record<string, string> {
  return {
    'auto-submitted': 'auto-generated',
    ...(stopUrl && { 'list-unsubscribe': `<${stopUrl}>`, 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' }),
  }
}

/** Connects, encrypts and signs in as for a mail, without sending one. Returns the server's error, if any. */
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

/** A silent mail server must not block one of the few concurrent deliveries for minutes. */
const waits = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 }
/** An operator waits for the answer. The socket's limit is the longest, because its error says only "Timeout". */
const shortWaits = { connectionTimeout: 3_000, greetingTimeout: 3_000, socketTimeout: 5_000 }

/** In development without a mail server, a mail is two files, one per part, and its text is logged. */
function intoFolder({ mail: { from }, dataDir, isProduction }: MailConfig, log: Log): Delivery {
  const folder = resolve(dataDir, 'mail')
  return {
    send: async ({ to, subject, text, html, logo, hasLink }) => {
      // Made before the first await, so that the files sort in the order in which the mails were sent.
      const id = newId()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, `${id}.txt`)
      await writeFile(join(folder, `${id}.html`), withLogo(html, logo), { mode: 0o600 })
      await writeFile(file, `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\n${text}\n`, { mode: 0o600 })
      log.info('mail', isProduction ? { file } : { file, to, subject, ...(!hasLink && { text }) })
    },
    close: () => {},
  }
}

/** A file has no attachments, so the logo is inlined. */
function withLogo(html: string, logo: Logo | undefined): string {
  return logo
    ? html.replace(`cid:${logoId}`, `data:${logo.type};base64,${Buffer.from(logo.bytes).toString('base64')}`)
    : html
}
