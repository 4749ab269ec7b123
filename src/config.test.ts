import { describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { ConfigError, findMisspelt, parseConfig, variableNames, type Environment } from './config.ts'

function mistakesOf(environment: Environment): readonly string[] {
  try {
    parseConfig(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

test('nothing at all is a working configuration for development', () => {
  expect(parseConfig({})).toMatchObject({
    isProduction: false,
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://127.0.0.1:3000',
    dataDir: './data',
    databaseUrls: [],
    databaseConnections: 14,
    currency: { code: 'USD', decimals: 2 },
    workers: 1,
    hasDemo: true,
    mail: { smtpUrl: undefined, from: '"Billfold" <wallet@localhost>' },
    about: { name: 'Billfold', supportUrl: undefined, supportEmail: undefined, logoUrl: undefined },
    cards: { processor: 'sandbox' },
    topup: { minMinor: 100n, maxMinor: 1_000_000n },
    operatorChangesNeedTwo: false,
  })
})

test('an empty variable is an unset one', () => {
  expect(parseConfig({ PORT: '', CURRENCY: '' }).port).toBe(3000)
})

test.each([
  ['PORT', '70000'],
  ['PORT', 'http'],
  ['WORKERS', '0'],
  ['OPERATOR_CHANGES_NEED_TWO', 'yes'],
  ['CURRENCY', 'dollar'],
  ['DATABASE_URL', 'mysql://x'],
  ['DATABASE_URL', 'postgres://me@one:5432,two:port/x'],
  ['DATABASE_URL', 'postgres://me@one,two/x?target_session_attrs=standby'],
  ['DATABASE_CONNECTIONS', '6'],
  ['PUBLIC_URL', 'shop.example'],
  ['PUBLIC_URL', 'https://shop.example/wallet'],
  ['DEMO', 'yes'],
  ['LOG_LEVEL', 'loud'],
  ['SMTP_URL', 'mail.example'],
  ['CARD_PROCESSOR', 'paypal'],
  ['TOPUP_MIN', '-1'],
  ['TOPUP_MIN', '0'],
  ['TOPUP_MAX', '0.5'],
  ['NODE_ENV', 'prod'],
  ['SERVICE_NAME', 'A name of more than forty characters, which no form has room for'],
  ['SERVICE_NAME', 'Two\nlines'],
  ['SERVICE_NAME', 'Wallet <b>'],
  ['SERVICE_LOGO', 'http://wallet.example/logo.png'],
  ['SERVICE_LOGO', './logo.png'],
  ['SUPPORT_URL', 'mailto:help@wallet.example'],
  ['SUPPORT_URL', 'javascript:alert(1)'],
  ['SUPPORT_EMAIL', 'https://wallet.example/help'],
  ['TERMS_URL', 'wallet.example/terms'],
  ['PRIVACY_URL', 'http://wallet.example/privacy'],
  ['CHECKPOINTS', 'checkpoints/'],
  ['CHECKPOINTS', '/'],
  ['CHECKPOINTS', '/a,,/b'],
  ['CHECKPOINTS', '/a,/b/../a'],
  ['CHECKPOINTS', '/a\0b'],
  ['CHECKPOINTS', 'https://me:secret@log.example/'],
  ['CHECKPOINTS', 'ftp://log.example/'],
  ['CHECKPOINTS', '/1,/2,/3,/4,/5,/6,/7,/8,/9'],
  ['METRICS_PORT', '0'],
  ['METRICS_PORT', '3000'],
])('%s=%s is a mistake that is named', (name, value) => {
  const mistakes = mistakesOf({ [name]: value })
  expect(mistakes).toHaveLength(1)
  expect(mistakes[0]).toContain(name)
})

test.each([
  ['postgres://me:secret@db:5432/x', ['postgres://me:secret@db:5432/x']],
  [
    'postgres://me:a%40b@one:5432,two:5433,[::1]/x?target_session_attrs=read-write',
    [
      'postgres://me:a%40b@one:5432/x?target_session_attrs=read-write',
      'postgres://me:a%40b@two:5433/x?target_session_attrs=read-write',
      'postgres://me:a%40b@[::1]/x?target_session_attrs=read-write',
    ],
  ],
  ['postgres://me@%2Fvar%2Frun/x', ['postgres://me@%2Fvar%2Frun/x']],
  ['postgres:///x?host=/var/run', ['postgres:///x?host=/var/run']],
])('DATABASE_URL=%s has one address for each host', (given, servers) => {
  expect(parseConfig({ DATABASE_URL: given }).databaseUrls).toEqual(servers)
})

test('every lane of the writer has its connection, and the rest of the process has some too', () => {
  expect(parseConfig({ WRITER_LANES: '8' }).databaseConnections).toBe(21)
  expect(mistakesOf({ WRITER_LANES: '8', DATABASE_CONNECTIONS: '13' })).toHaveLength(1)
  expect(parseConfig({ WRITER_LANES: '8', DATABASE_CONNECTIONS: '14' }).databaseConnections).toBe(14)
})

test('all mistakes are told together', () => {
  const mistakes = mistakesOf({ PORT: 'x', CURRENCY: 'x', WORKERS: 'x', CARD_PROCESSOR: 'stripe' })
  expect(mistakes.map((mistake) => mistake.split(/[=:]/)[0])).toEqual([
    'PORT',
    'CURRENCY',
    'WORKERS',
    'STRIPE_SECRET_KEY',
    'STRIPE_PUBLISHABLE_KEY',
    'STRIPE_WEBHOOK_SECRET',
  ])
})

test('a mistake never shows what could be a secret', () => {
  const mistakes = mistakesOf({ DATABASE_URL: 'mysql://me:hunter2@x', SMTP_URL: 'hunter2', STRIPE_API_URL: 'hunter2' })
  expect(mistakes).toHaveLength(3)
  expect(mistakes.join()).not.toContain('hunter2')
})

test('the targets of checkpoints are files, folders and addresses, and production takes no plain http', () => {
  const { checkpointTargets } = parseConfig({ CHECKPOINTS: '/a/b.txt, /a/c/,https://log.example/x?token=1' })
  expect(checkpointTargets).toMatchObject([
    { kind: 'file', place: '/a/b.txt' },
    { kind: 'folder', place: '/a/c/' },
    { kind: 'address', place: 'https://log.example/x?token=1' },
  ])
  expect(parseConfig({ CHECKPOINTS: 'http://127.0.0.1:1/' }).checkpointTargets).toHaveLength(1)
  const mistakes = mistakesOf({ NODE_ENV: 'production', CHECKPOINTS: 'http://log.example/?token=hunter2' })
  expect(mistakes.filter((mistake) => mistake.startsWith('CHECKPOINTS'))).toHaveLength(1)
  expect(mistakesOf({ CHECKPOINTS: 'log.example/?token=hunter2' }).join()).not.toContain('hunter2')
})

test('the service has the name, the links and the sender that it was given', () => {
  const given = { SUPPORT_URL: 'https://wallet.example/help', SUPPORT_EMAIL: 'help@wallet.example' }
  const { about, mail } = parseConfig({ SERVICE_NAME: ' Café Purse ', ...given })
  expect(about).toMatchObject({ name: 'Café Purse', supportUrl: given.SUPPORT_URL, supportEmail: given.SUPPORT_EMAIL })
  expect(mail.from).toBe('"Café Purse" <wallet@localhost>')
})

const key = (letter: string) => Buffer.alloc(32, letter).toString('base64')

test('SECRETS_KEY takes several keys of 32 bytes, and says how one is made', () => {
  expect(parseConfig({ SECRETS_KEY: `${key('a')}, ${key('b')}` }).secretsKeys).toEqual([key('a'), key('b')])
  for (const wrong of ['secret', `${key('a')},`, Buffer.alloc(16).toString('base64'), `${key('a')},${key('a')}`]) {
    const mistakes = mistakesOf({ SECRETS_KEY: wrong })
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).not.toContain(wrong)
  }
  expect(mistakesOf({ SECRETS_KEY: 'secret' })[0]).toContain('openssl rand -base64 32')
})

describe('in production', () => {
  const good = {
    NODE_ENV: 'production',
    PUBLIC_URL: 'https://wallet.example',
    SMTP_URL: 'smtps://mail.example',
    CARD_PROCESSOR: 'none',
    SECRETS_KEY: key('a'),
  }

  test('starts when everything unsafe is left out, without demo data', () => {
    expect(parseConfig(good)).toMatchObject({ isProduction: true, hasDemo: false, operatorChangesNeedTwo: true })
    expect(parseConfig({ ...good, OPERATOR_CHANGES_NEED_TWO: '0' }).operatorChangesNeedTwo).toBe(false)
    expect([parseConfig(good).hasHsts, parseConfig({ ...good, HSTS: '0' }).hasHsts]).toEqual([true, false])
    // In development a receiver on this machine is usual; in production it may be something else than a receiver.
    expect(parseConfig(good).webhookAllowedNets).toEqual([])
    expect(parseConfig({}).webhookAllowedNets).not.toEqual([])
  })

  test('production refuses every unsafe default, and says why', () => {
    const mistakes = mistakesOf({ NODE_ENV: 'production' })
    expect(mistakes.map((mistake) => mistake.split(/[=:]/)[0])).toEqual([
      'PUBLIC_URL',
      'CARD_PROCESSOR',
      'SECRETS_KEY',
      'SMTP_URL',
    ])
  })

  test.each([
    ['PUBLIC_URL', 'http://wallet.example'],
    ['DEMO', '1'],
    ['CARD_PROCESSOR', 'sandbox'],
    ['STRIPE_API_URL', 'http://localhost:1'],
    ['CURRENCY', 'XYZ'],
  ])('production refuses %s=%s', (name, value) => {
    expect(mistakesOf({ ...good, [name]: value })).toHaveLength(1)
  })
})

test.each([
  ['production', 'sk_test_1', 'pk_test_1', 1],
  ['production', 'sk_live_1', 'pk_test_1', 2],
  ['development', 'sk_live_1', 'pk_test_1', 1],
  ['development', 'sk_test_1', 'pk_test_1', 0],
  ['development', 'pk_test_1', 'sk_test_1', 2],
  ['development', '', 'pk_test_1', 2],
  ['production', 'sk_live_1', 'pk_live_1', 0],
])('%s with the Stripe keys %s and %s has %d mistakes', (NODE_ENV, secret, publishable, count) => {
  const keys = { STRIPE_SECRET_KEY: secret, STRIPE_PUBLISHABLE_KEY: publishable, STRIPE_WEBHOOK_SECRET: 'whsec_1' }
  const safe = { PUBLIC_URL: 'https://wallet.example', SMTP_URL: 'smtps://mail.example', CARD_PROCESSOR: 'stripe' }
  expect(mistakesOf({ NODE_ENV, ...safe, ...keys, SECRETS_KEY: key('a') })).toHaveLength(count)
})

test('a variable that looks like one of ours is told, and what every machine has is not', () => {
  const usual = { HOME: '/', PATH: '/', LOGNAME: 'x', HOSTNAME: 'x', NODE_PATH: '/', MAIL: 'x', PWD: '/', PGHOST: 'x' }
  expect(findMisspelt({ ...usual, TRUSTED_PROXY: '1', DATABASE_URI: 'x', WORKERS: '1' })).toEqual([
    { name: 'TRUSTED_PROXY', meant: 'TRUSTED_PROXIES' },
    { name: 'DATABASE_URI', meant: 'DATABASE_URL' },
  ])
})

test('the limits of a top-up are in the currency', () => {
  expect(parseConfig({ CURRENCY: 'JPY', TOPUP_MIN: '100' }).topup.minMinor).toBe(100n)
  expect(mistakesOf({ CURRENCY: 'JPY', TOPUP_MIN: '0.5' })).toHaveLength(1)
})

test('.env.example names every variable there is, and no other', async () => {
  const text = await readFile(new URL('../.env.example', import.meta.url), 'utf8')
  const named = [...text.matchAll(/^# ?([A-Z_]+)=/gm)].map(([, name]) => name!)
  expect(named.sort()).toEqual([...variableNames].sort())
})

test('DATABASE_PASSWORD belongs to an address with a user and without a password', () => {
  const nasty = `p/@:#?%&'" ü`
  const { databaseUrls } = parseConfig({ DATABASE_URL: 'postgres://me@one,two:5433/x?a=b', DATABASE_PASSWORD: nasty })
  expect(databaseUrls.map((address) => new URL(address).host)).toEqual(['one', 'two:5433'])
  for (const address of databaseUrls) expect(decodeURIComponent(new URL(address).password)).toBe(nasty)
  for (const DATABASE_URL of [undefined, 'postgres://me:secret@one/x', 'postgres://one/x'])
    expect(mistakesOf({ DATABASE_URL, DATABASE_PASSWORD: nasty })).toEqual([
      expect.stringMatching(/^DATABASE_PASSWORD: /) as string,
    ])
})
