import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../../config.ts'
import { chooseLanguage } from '../../languages/languages.ts'
import { openLog } from '../../platform/log.ts'
import { openMetrics } from '../../platform/metrics.ts'
import { startMailServer, type MailServer } from '../../../test/mail-server.ts'
import { openMail } from './send-mail.ts'

let server: MailServer

beforeAll(async () => {
  server = await startMailServer()
})
afterAll(() => server.goAway())

function open(environment: Record<string, string>) {
  const logged: string[] = []
  const log = openLog('debug', (line) => logged.push(line))
  return { logged, mail: openMail(parseConfig({ DEMO: '0', ...environment }), log, openMetrics()) }
}

function openSmtp() {
  server.lines.length = server.taken.length = 0
  return open({ SMTP_URL: server.url, MAIL_FROM: 'Billfold <wallet@shop.example>' })
}

/** Mails are sent in the background; closing waits for them a few seconds at most. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_500 && !isSo(); tries++) await Bun.sleep(20)
}
const isTaken = () => server.taken.length > 0

const letter = {
  to: 'ada@example.com',
  language: chooseLanguage('en'),
  letter: { subject: '123456 is your code', title: 'Code', code: '123456', lines: ['Enter it.'], why: 'You asked.' },
}

test('a mail goes to the mail server, from the configured sender, and is not logged', async () => {
  const { mail, logged } = openSmtp()
  mail.send(letter)
  await until(isTaken)
  await mail.close()
  expect(server.lines).toContain('MAIL FROM:<wallet@shop.example>')
  expect(server.lines).toContain('RCPT TO:<ada@example.com>')
  expect(server.lines).toContain('Subject: 123456 is your code')
  expect(server.lines).toContain('123456')
  expect(logged.join('')).not.toMatch(/123456|ada@/)
})

test('an address that reads like a list or a name is still one recipient', async () => {
  const { mail } = openSmtp()
  mail.send({ ...letter, to: 'ada,eve@example.com' })
  await until(isTaken)
  await mail.close()
  expect(server.lines.filter((line) => line.startsWith('RCPT'))).toEqual(['RCPT TO:<"ada,eve"@example.com>'])
})

test('a mail that was refused temporarily is sent again', async () => {
  const { mail, logged } = openSmtp()
  server.behaviour.refuseNext = 1
  mail.send(letter)
  await until(isTaken)
  expect(server.lines).toContain('123456')
  expect(logged.join('')).toContain('a mail was not sent')
  await mail.close()
})

test('a mail server that is down delays neither the caller nor, for long, the shutdown', async () => {
  const { mail, logged } = open({ SMTP_URL: 'smtp://127.0.0.1:1' })
  for (let i = 0; i < 1_100; i++) mail.send(letter)
  await mail.close()
  expect(logged.filter((line) => line.includes('a mail was dropped')).length).toBeGreaterThan(0)
  expect(logged.join('')).not.toMatch(/123456|ada@/)
})

test('without a mail server, in development, a mail is a file that only its owner can read, and is logged', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'billfold-mail-'))
  const { mail, logged } = open({ DATA_DIR: dataDir })
  mail.send(letter)
  await until(() => logged.length > 0)
  await mail.close()
  const [page, text] = (await readdir(join(dataDir, 'mail'))).sort().map((file) => join(dataDir, 'mail', file))
  const written = await readFile(text!, 'utf8')
  expect(written).toContain(
    'To: ada@example.com\nSubject: 123456 is your code\n\nBillfold\n\nCode\n\n123456\n\nEnter it.',
  )
  expect(await readFile(page!, 'utf8')).toContain('>123456</div>')
  for (const path of [page!, text!]) expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(logged[0]!)).toMatchObject({
    message: 'mail',
    file: text,
    to: letter.to,
    subject: '123456 is your code',
  })
  expect(written).toContain(JSON.parse(logged[0]!).text)
  await rm(dataDir, { recursive: true })
})
