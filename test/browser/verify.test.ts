/** A proof on its way: from the receipt's window into a file, and into the page that checks it, which is opened from disk. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Download, Page } from '@playwright/test'
import { makePositions } from '../../sdk/test/made-positions.ts'
import { compareProofs, verifyProof } from '../../sdk/verify.ts'
import { writeProof } from '../../sdk/verify/proof-file.ts'
import { readLogKeys } from '../../src/actions/proofs/check-receipt.ts'
import { logOrigin, readLogSeed } from '../../src/actions/proofs/checkpoint.ts'
import { proveEntry } from '../../src/actions/proofs/prove-entry.ts'
import { namedTree } from '../../src/actions/proofs/seal-books.ts'
import { checkpointText, newKeySeed, publishedKey, signNote } from '../../src/proof/sign-note.ts'
import { findLog } from '../../src/store/proofs/proof-log.ts'
import { hashFoundEntries } from '../../src/store/proofs/entry-leaves.ts'
import { findTree } from '../../src/store/proofs/wallet-trees.ts'
import { until, untilSeen } from '../until.ts'
import { findAllViolations, findBarriers, setScheme, wantsPictures } from './axe.ts'
import { findMisfits } from './layout.ts'
import { embed, startRig, type Rig } from './rig.ts'
import { signInOnDevice, walletUrl, type Tenant } from './shop.ts'

setDefaultTimeout(240_000)

let rig: Rig
let tenant: Tenant
let folder: string
beforeAll(async () => {
  rig = await startRig({ SERVICE_NAME: 'Penny Lane' })
  tenant = await rig.newTenant()
  await tenant.client.credit(tenant.user.serviceUserId, 100)
  await tenant.client.debit(tenant.user.serviceUserId, 12)
  folder = await mkdtemp(join(tmpdir(), 'verify-'))
})
afterAll(async () => {
  await rig.stop()
  await rm(folder, { recursive: true, force: true })
})

async function prove({ user }: Tenant, sequence: number, since?: number): Promise<string> {
  const result = await proveEntry(rig.service, { walletId: user.userId, sequence, since })
  if (result.kind !== 'proof') throw new Error(result.kind)
  return result.file
}

const textOf = async (download: Download) => (await Array.fromAsync(await download.createReadStream())).join('')

/** Receipt of the newest entry, in its window. */
async function openReceipt(lang: string): Promise<{ page: Page; paper: Page }> {
  const page = await rig.openPage()
  await signInOnDevice(rig, page, tenant)
  await page.goto(rig.shop)
  const frame = await embed(page, walletUrl(rig, { session: await tenant.newSession(rig.shop), lang }))
  await frame.click('#all-activity')
  await untilSeen(frame, '.browse .entry')
  await frame.click('.entry-open')
  await untilSeen(frame, '.detail .papers button')
  const [paper] = await Promise.all([page.context().waitForEvent('page'), frame.click('.detail .papers button')])
  await paper.waitForURL('**/widget/papers/*')
  await untilSeen(paper, '#print')
  return { page, paper }
}

async function picture(page: Page, name: string): Promise<void> {
  if (wantsPictures)
    await page.screenshot({ path: join(import.meta.dir, '../screenshots', `${name}.png`), fullPage: true })
}

/** At 360 and 1280, light and dark. */
async function expectUsable(page: Page, name: string): Promise<void> {
  for (const [width, scheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [360, 'light'],
    [360, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await until(page, (width) => innerWidth === width, width)
    await setScheme(page, page, scheme)
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    expect([name, width, isWide]).toEqual([name, width, false])
    await picture(page, `${name}-${width}-${scheme}`)
  }
  expect(await findBarriers(page)).toEqual([])
}

describe('a receipt', () => {
  test('has a code that leads to its public page, and a proof that verifies without the service', async () => {
    const { page, paper } = await openReceipt('en')
    await expectUsable(paper, 'receipt-with-proof')
    const address = (await paper.getAttribute('.address a', 'href'))!
    expect(address.length).toBeLessThanOrEqual(213)
    const code = await paper.evaluate(() => {
      const svg = document.querySelector('svg.qr')!
      return [
        svg.getAttribute('role'),
        svg.getAttribute('aria-label'),
        svg.querySelector('path')!.getAttribute('d')!.length,
      ]
    })
    expect(code).toEqual(['img', 'QR code: address that confirms this receipt', expect.any(Number)])

    const [download] = await Promise.all([paper.waitForEvent('download'), paper.click('#proof')])
    expect(download.suggestedFilename()).toBe('proof-2.txt')
    const keys = await readLogKeys(rig.service)
    expect(await verifyProof(await textOf(download), { keys })).toMatchObject({
      ok: true,
      entry: { amountMinor: -1200n, sequence: 2, walletSize: 2 },
    })
    // The link worked once.
    await paper.waitForSelector('#proof', { state: 'hidden' })

    await paper.goto(new URL(new URL(address).pathname, rig.base).href)
    const text = await paper.innerText('main')
    for (const part of ['This receipt is genuine', '$12.00', 'Fernweh Books']) expect(text).toContain(part)
    expect(text).not.toContain('Lovelace')
    await expectUsable(paper, 'receipt-check')
    expect(await findMisfits(paper, paper, 'receipt-check')).toEqual([])
    await rig.closePage(page)
  })

  test('with an earlier proof chosen beside it, the new proof shows that the history is the same', async () => {
    const earlier = await prove(tenant, 1)
    await tenant.client.debit(tenant.user.serviceUserId, 3)
    const { page, paper } = await openReceipt('de')
    await paper.click('#earlier summary')
    const state = (text: string) =>
      until(paper, (text) => document.querySelector('#earlier-state')?.textContent === text, text)
    await paper.setInputFiles('#earlier-file', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('none') })
    await state('Diese Datei ist kein Nachweis.')
    await paper.setInputFiles('#earlier-file', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from(earlier) })
    await state('Der Nachweis umfasst Ihren Verlauf seit Eintrag 2.')
    expect(await findBarriers(paper)).toEqual([])
    expect(await findMisfits(paper, paper, 'receipt-with-proof')).toEqual([])
    const [download] = await Promise.all([paper.waitForEvent('download'), paper.click('#proof')])
    const later = await textOf(download)
    const keys = await readLogKeys(rig.service)
    expect(await compareProofs([earlier, later], { keys })).toMatchObject({ kind: 'kept', later: { walletSize: 3 } })
    await rig.closePage(page)
  })

  test('is written from right to left, and on paper has the address in one page', async () => {
    const { page, paper } = await openReceipt('he')
    await expectUsable(paper, 'receipt-with-proof-right-to-left')
    await paper.emulateMedia({ media: 'print' })
    const printed = await paper.evaluate(() => {
      const { content, direction } = getComputedStyle(document.querySelector('.address a')!, '::after')
      return [content, direction]
    })
    expect(printed).toEqual([expect.stringMatching(/\/verify\/[\w-]{43}"$/), 'ltr'])
    await picture(paper, 'receipt-with-proof-printed')
    await paper.emulateMedia({ media: null })
    expect((await paper.pdf({ format: 'A4' })).toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g)).toHaveLength(1)
    await rig.closePage(page)
  })
})

/** Saves the page from the service and opens the copy from disk. Everything that it asks for is recorded. */
async function openFromDisk(lang = 'en') {
  const html = await (await fetch(`${rig.base}/verify?lang=${lang}&save=1`)).text()
  const path = join(folder, `check-${lang}-${crypto.randomUUID()}.html`)
  await writeFile(path, html)
  const page = await rig.openPage()
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  const faults: string[] = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  await page.context().setOffline(true)
  await page.goto(pathToFileURL(path).href)
  await untilSeen(page, '.drop')
  const choose = async (...files: (readonly [name: string, content: string | Uint8Array])[]) => {
    const chosen = files.map(([name, content]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) }))
    await page.setInputFiles('#files', chosen)
  }
  const says = (text: string) =>
    until(page, (text) => document.querySelector('section')?.textContent?.includes(text), text)
  const clear = async () => {
    await page.click('text=Clear')
    await until(page, () => document.querySelectorAll('article').length === 0)
  }
  return { page, asked, faults, choose, says, clear, url: pathToFileURL(path).href }
}

/** The log of the service, which signs what the test asks for. */
async function signer() {
  const log = (await findLog(rig.service.db.pool))!
  return { origin: logOrigin(rig.service, log), seed: await readLogSeed(rig.service, log) }
}

describe('the page from disk', () => {
  test('says in words what a proof shows, and asks nothing of any server', async () => {
    const { page, asked, faults, choose, says, url } = await openFromDisk()
    await choose(['proof.txt', await prove(tenant, 2)])
    await says('is entry 2 of 3 in its wallet.')
    const text = await page.innerText('article')
    expect(text).toMatch(/^File proof\.txt\s+This payment of \$12\.00 on \w+, \w+ \d+, 20\d\d at .* is entry 2 of 3/)
    const log = (await findLog(rig.service.db.pool))!
    expect(text).toContain(`The books that contain it were signed by ${logOrigin(rig.service, log)} on `)
    await expectUsable(page, 'check-proof')
    expect(await findAllViolations(page)).toEqual([])
    expect(await findMisfits(page, page, 'check-proof')).toEqual([])
    expect([asked.filter((address) => address !== url && !address.startsWith('data:')), faults]).toEqual([[], []])
    await rig.closePage(page)
  })

  test('says what the account of an app stood at when a day ended', async () => {
    const { origin, seed } = await signer()
    const signing = { origin, seed, day: '2026-03-03', signedAt: new Date('2026-03-04T02:10:00Z') }
    const { proofs } = await makePositions(12, signing)
    // Of those accounts, one with a plain name.
    const proof = writeProof(proofs[11]!)
    for (const lang of ['en', 'ar']) {
      const { page, choose, faults } = await openFromDisk(lang)
      await choose(['position.txt', proof])
      await untilSeen(page, 'article .good')
      await expectUsable(page, `check-position-${lang}`)
      expect(await findAllViolations(page)).toEqual([])
      expect(await findMisfits(page, page, `check-position-${lang}`)).toEqual([])
      const text = (await page.innerText('article')).replaceAll(/[\u2066-\u2069\u200e\u200f]/g, '')
      if (lang === 'en') {
        expect(text).toContain('At the end of March 3, 2026 (UTC), the account app:a|b11 stood at −$5.50.')
        expect(text).toMatch(/were signed by \S+ on \w+, March \d, 2026 at/)
        expect(text).toContain('Received: $11.00. Paid: $16.50. Entries: 11.')
      }
      expect(faults).toEqual([])
      await rig.closePage(page)
    }
  })

  test('says that a position is not compared with the proof of an entry', async () => {
    const { proofs } = await makePositions(3, { ...(await signer()), day: '2026-03-03', signedAt: null })
    const { page, choose, says } = await openFromDisk()
    await choose(['a.txt', writeProof(proofs[1]!)], ['b.txt', await prove(tenant, 2)])
    await says('Only two proofs of entries of one wallet can be compared.')
    // A log that says no time.
    await says('The books that contain it were signed by ' + (await signer()).origin + '.')
    await rig.closePage(page)
  })

  test('says one thing for each thing that is wrong with a file', async () => {
    const proof = await prove(tenant, 2)
    const other = await prove(tenant, 1)
    const { page, choose, says, clear, faults } = await openFromDisk()
    // The amount is another one: the signature no longer covers it.
    const changed = proof.replace(/(?<=^extra ).*/m, (encoded) => {
      const fields = JSON.parse(Buffer.from(encoded, 'base64').toString())
      return Buffer.from(JSON.stringify({ ...fields, amountMinor: '-120000' })).toString('base64')
    })
    const cases: [string, string | Uint8Array, string][] = [
      ['changed', changed, 'The signed books do not contain what this file says. The file was changed.'],
      ['cut', proof.slice(0, 300), 'This file is not a proof, or it is damaged.'],
      ['note', 'Dear Sir,\n\nthe cheque is in the post.\n', 'This file is not a proof, or it is damaged.'],
      ['markup', '<img src=x onerror=alert(1)>', 'This file is not a proof, or it is damaged.'],
      ['empty', '', 'This file is empty.'],
      ['large', new Uint8Array(5_000_000), 'This file is too large to be a proof.'],
      [
        'picture',
        Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10, 0, 255),
        'This file is not text, so it is not a proof.',
      ],
      ['zeros', 'c2sp.org/tlog-proof@v1\n\0', 'This file is not text, so it is not a proof.'],
    ]
    for (const [name, content, sentence] of cases) {
      await choose([name, content])
      await says(`File ${name}`)
      await says(sentence)
      expect([name, await page.evaluate(() => document.querySelectorAll('.good').length)]).toEqual([name, 0])
      await clear()
    }
    // A proof that Windows or a mail program gave other ends of lines is still one.
    await choose(['windows.txt', proof.replaceAll('\n', '\r\n')])
    await says('is entry 2 of 3 in its wallet.')
    await choose(['other.txt', other], ['third.txt', proof])
    await says('Choose at most two proofs and one checkpoint.')
    expect(await page.evaluate(() => document.querySelectorAll('article').length)).toBe(1)
    expect(faults).toEqual([])
    await rig.closePage(page)
  })

  test('trusts only the keys that the reader leaves in its list', async () => {
    const { page, choose, says } = await openFromDisk()
    const stranger = newKeySeed()
    const proof = await prove(tenant, 2)
    const { origin, rest } = /^(?<origin>.+\/books\/.+)\n(?<rest>.+\n.+\n.+)\n\n/m.exec(
      proof.slice(proof.indexOf('\n\n') + 2),
    )!.groups as { origin: string; rest: string }
    const forged = `${proof.slice(0, proof.indexOf('\n\n') + 2)}${await signNote(`${origin}\n${rest}\n`, origin, stranger)}`
    await choose(['forged.txt', forged])
    await says('None of the keys that you trust signed this proof.')
    await page.click('summary')
    await page.fill('textarea', await publishedKey(origin, stranger))
    await says('is entry 2 of 3 in its wallet.')
    await page.fill('textarea', 'no key')
    await says('None of the keys that you trust signed this proof.')
    await picture(page, 'check-proof-keys')
    await rig.closePage(page)
  })

  test('compares a checkpoint with the proofs', async () => {
    const { page, choose, says, clear } = await openFromDisk()
    const proof = await prove(tenant, 2)
    const checkpoint = proof.slice(proof.indexOf('\n\n') + 2)
    const [origin, size] = checkpoint.split('\n') as [string, string]
    await choose(['proof.txt', proof], ['checkpoint.txt', checkpoint])
    await says(`This checkpoint is signed by ${origin}, and the proof fits it.`)
    await clear()
    const log = (await findLog(rig.service.db.pool))!
    const seed = Buffer.from(
      await rig.service.secrets.unseal(log.sealedKey!, { purpose: 'log-key', id: log.id }),
      'base64',
    )
    const sign = (size: number) =>
      signNote(checkpointText({ origin, size, root: new Uint8Array(32).fill(9), signedAt: null }), origin, seed)
    await choose(['proof.txt', proof], ['two.txt', await sign(Number(size))])
    await says('There are two versions of the books: this checkpoint and the proof contradict each other.')
    await clear()
    await choose(['proof.txt', proof], ['later.txt', await sign(Number(size) + 5)])
    await says('so it neither confirms nor contradicts them')
    await clear()
    const unsigned = await signNote(
      checkpointText({ origin, size: 9, root: new Uint8Array(32), signedAt: null }),
      origin,
      newKeySeed(),
    )
    await choose(['unsigned.txt', unsigned])
    await says('None of the keys that you trust signed this checkpoint.')
    await rig.closePage(page)
  })

  test('takes dropped files, and every part is reached by the keyboard', async () => {
    const { page, says } = await openFromDisk()
    const proof = await prove(tenant, 2)
    // Long before it opens: Chromium shows its own window until it has learnt that the test waits for it.
    const opened = page.waitForEvent('filechooser')
    await page.evaluate((text) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([text], 'dropped.txt'))
      document
        .querySelector('.drop')!
        .dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    }, proof)
    await says('File dropped.txt')
    const focused = () => page.evaluate(() => document.activeElement!.id || document.activeElement!.localName)
    const reached = []
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab')
      reached.push(await focused())
    }
    expect(reached).toEqual(['files', 'button', 'summary'])
    await page.keyboard.press('Enter')
    await until(page, () => document.querySelector('details')!.open)
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('textarea')
    for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+Tab')
    expect(await focused()).toBe('files')
    await page.keyboard.press('Enter')
    const chooser = await opened
    expect(chooser.isMultiple()).toBe(true)
    await rig.closePage(page)
  })

  test('is written from right to left in Hebrew and Arabic', async () => {
    for (const lang of ['he', 'ar']) {
      const { page, choose } = await openFromDisk(lang)
      await choose(['proof.txt', await prove(tenant, 2)], ['none.txt', 'x'])
      await until(page, () => document.querySelectorAll('article').length === 2)
      expect(await page.evaluate(() => document.documentElement.dir)).toBe('rtl')
      await expectUsable(page, `check-proof-${lang}`)
      await rig.closePage(page)
    }
  })
})

/** What the owner of the database does who changes the first entry and computes the wallet's tree again. */
async function rewrite({ user }: Tenant): Promise<void> {
  const { pool } = rig.service.db
  await pool.query('alter table transfers disable trigger user; grant all on transfers to current_user')
  await pool.query('update transfers set description = $2 where wallet_id = $1 and sequence = 1', [user.userId, 'new'])
  await pool.query('alter table transfers enable trigger user; revoke update on transfers from current_user')
  const tree = (await findTree(pool, user.userId))!
  const [hashes] = await hashFoundEntries(pool, [{ ...namedTree(tree), after: 0, until: 1 }], 'USD')
  await pool.query('update wallet_heads set size = 1, peaks = $2 where wallet_id = $1', [user.userId, hashes])
}

describe('two proofs of one wallet', () => {
  test('show the same history, a rewritten one, or that they cannot tell', async () => {
    const other = await rig.newTenant()
    for (let i = 0; i < 5; i++) await other.client.credit(other.user.serviceUserId, 10)
    const earlier = await prove(other, 3)
    for (let i = 0; i < 4; i++) await other.client.credit(other.user.serviceUserId, 1)
    const later = await prove(other, 8, 5)
    const unlinked = await prove(other, 8)
    const { page, choose, says, clear } = await openFromDisk()

    // In either order, and one after the other.
    await choose(['later.txt', later])
    await says('is entry 8 of 9')
    await choose(['earlier.txt', earlier])
    await says('its history is the same in both: the first 5 entries did not change.')
    await expectUsable(page, 'check-two-same')
    await clear()
    await choose(['earlier.txt', earlier], ['unlinked.txt', unlinked])
    await says('They do not show whether every earlier entry is the same.')
    await clear()
    await choose(['earlier.txt', earlier], ['stranger.txt', await prove(tenant, 1)])
    await says('These proofs are of different wallets, so they cannot be compared.')
    await clear()

    await rewrite(other)
    await other.client.credit(other.user.serviceUserId, 2)
    const rewritten = await prove(other, 10, 5)
    await choose(['earlier.txt', earlier], ['rewritten.txt', rewritten])
    await says('The history of this wallet was rewritten between these two proofs.')
    await expectUsable(page, 'check-two-rewritten')
    expect(await page.evaluate(() => document.querySelectorAll('article .good').length)).toBe(2)
    await rig.closePage(page)
  })
})

test('the page of the service works as the saved one, and says how to save it', async () => {
  const page = await rig.openPage()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(`${rig.base}/verify`)
  await untilSeen(page, '.drop')
  const file = { name: 'proof.txt', mimeType: 'text/plain', buffer: Buffer.from(await prove(tenant, 2)) }
  await page.setInputFiles('#files', file)
  await until(page, () => document.querySelector('section')?.textContent?.includes('is entry 2 of'))
  expect(asked).toEqual(['/verify'])
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save this page')])
  expect(download.suggestedFilename()).toBe('check-proofs.html')
  expect(await textOf(download)).toContain('<title>Check a proof · Penny Lane</title>')
  await rig.closePage(page)
})
