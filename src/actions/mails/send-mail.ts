/** Mail, sent in the background: how long a mail server takes must not tell whether there was a mail to send. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { Config } from '../../config.ts'
import { faultFields, type Log } from '../../log.ts'
import { newId } from '../tokens.ts'
import { writeMail, type Letter, type WrittenMail } from './letter.ts'
import type { MailLanguage } from './mail-words.ts'

/** A letter on its way to somebody, in their language. */
export type Mail = {
  readonly to: string
  readonly language: MailLanguage
  readonly letter: Letter
}

export type MailSender = {
  /** Soon, and again a few times if need be; for what people can ask for once more. */
  readonly send: (mail: Mail) => void
  /** Waits, for a while, until everything is sent. */
  readonly close: () => Promise<void>
}

const maxWaiting = 1_000
const maxAtOnce = 4
const retryAfterMs = [1_000, 5_000, 20_000]
const closeWithinMs = 5_000

type MailConfig = Pick<Config, 'mail' | 'about' | 'dataDir' | 'isProduction'>

export function openMail(config: MailConfig, log: Log): MailSender {
  const deliver = config.mail.smtpUrl ? smtp(config.mail.smtpUrl, config.mail.from) : intoFolder(config, log)
  const closing = new AbortController()
  const waiting: Mail[] = []
  let running = 0
  let idle = Promise.withResolvers<void>()

  async function run(): Promise<void> {
    running++
    for (let mail = waiting.shift(); mail; mail = waiting.shift()) await deliverOrLog(mail)
    if (--running === 0) idle.resolve()
  }

  async function deliverOrLog(mail: Mail): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await deliver.send({
          to: mail.to,
          ...writeMail(mail.letter, { ...mail, about: config.about, hasLogo: false }),
        })
      } catch (error) {
        const pauseMs = retryAfterMs[tries]
        log[pauseMs && !closing.signal.aborted ? 'warn' : 'error']('a mail was not sent', {
          tries: tries + 1,
          ...faultFields(error),
        })
        if (pauseMs === undefined || closing.signal.aborted) return
        await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
      }
    }
  }

  return {
    send: (mail) => {
      // People can ask for another; a mail server that is away must not fill the memory.
      if (waiting.length >= maxWaiting) return log.error('a mail was dropped: too many are waiting')
      waiting.push(mail)
      if (running === 0) idle = Promise.withResolvers()
      if (running < maxAtOnce) void run()
    },
    close: async () => {
      closing.abort()
      if (running > 0) await Promise.race([idle.promise, sleep(closeWithinMs)])
      deliver.close()
    },
  }
}

type Envelope = WrittenMail & { readonly to: string }
type Delivery = { readonly send: (mail: Envelope) => Promise<void>; readonly close: () => void }

function smtp(url: string, from: string): Delivery {
  const transport = createTransport(url, { from, ...waits })
  return {
    send: async ({ to, subject, text, html }) => {
      // As an object the address is taken as it stands, and never read as a list or a name.
      const headers = { 'auto-submitted': 'auto-generated' }
      await transport.sendMail({ to: { name: '', address: to }, subject, text, html, headers })
    },
    close: () => transport.close(),
  }
}

/** A mail server that says nothing must not hold one of the few that are sent at once for minutes. */
const waits = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 }

/** Development without a mail server: the mail is two files, one for each part, and its text is shown in the log. */
function intoFolder({ mail: { from }, dataDir, isProduction }: MailConfig, log: Log): Delivery {
  const folder = resolve(dataDir, 'mail')
  return {
    send: async ({ to, subject, text, html }) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const id = newId()
      const file = join(folder, `${id}.txt`)
      await writeFile(join(folder, `${id}.html`), html, { mode: 0o600 })
      await writeFile(file, `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\n${text}\n`, { mode: 0o600 })
      log.info('mail', isProduction ? { file } : { file, to, subject, text })
    },
    close: () => {},
  }
}
