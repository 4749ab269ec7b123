/** What the page says about a file, in whole sentences. */
import type { HistoryVerdict, ProofVerdict, VerifiedEntry, VerifiedPosition } from '../../../sdk/verify.ts'
import { fill, type Words } from '../../languages/words.ts'
import { formatMinor, type Currency } from '../../ledger/money.ts'
import { exactTime, formatMoney } from '../client/format.ts'
import type { OfflineData } from './offline-data.ts'
import type { CheckedFile, CheckpointVerdict } from './read-files.ts'

type Saying = { readonly words: Words['verify']; readonly lang: string }
type HistoryProps = Saying & { readonly history: HistoryVerdict }

export function HistoryLine({ words, lang, history }: HistoryProps) {
  // The file at fault says so itself.
  if (history.kind === 'refused') return null
  if (history.kind === 'other-wallet') return <p class="open">{words.otherWallets}</p>
  if (history.kind === 'no-wallet') return <p class="open">{words.noWallet}</p>
  if (history.kind === 'no-link') return <p class="open">{words.noLink}</p>
  const { earlier, later } = history
  const size = number(earlier.walletSize, lang)
  if (history.kind === 'kept') return <p class="good">{fill(words.sameHistory, { size }, lang)}</p>
  return <p class="bad">{earlier.origin === later.origin ? words.rewritten : words.restored}</p>
}

const number = (value: number, lang: string) => new Intl.NumberFormat(lang).format(value)

type SignerProps = { readonly text: string; readonly signer: string }

/** A sentence with the log that signed: an address, which may break only between its parts. */
function WithSigner({ text, signer }: SignerProps) {
  const [before, after] = text.split('{signer}')
  const [first, ...parts] = signer.split('/')
  return (
    <>
      {before}
      <bdi dir="ltr">
        {first}
        {parts.map((part) => (
          <>
            /<wbr />
            {part}
          </>
        ))}
      </bdi>
      {after}
    </>
  )
}

const faultWords = {
  NOT_A_PROOF: 'notProof',
  UNKNOWN_SIGNER: 'unknownSigner',
  NOT_IN_THE_BOOKS: 'notInBooks',
  OTHER_BOOKS: 'otherBooks',
} as const satisfies Record<string, keyof Words['verify']>

export function FileResult({ data, checked }: { data: OfflineData; checked: CheckedFile }) {
  const { words, lang } = data
  return (
    <article class="card">
      <h2>
        <bdi>{fill(words.file, { name: checked.file.name }, lang)}</bdi>
      </h2>
      {'verdict' in checked ? (
        checked.verdict.ok ? (
          <Proven data={data} verdict={checked.verdict} />
        ) : (
          <p class="bad">{words[faultWords[checked.verdict.fault]]}</p>
        )
      ) : 'checkpoint' in checked ? (
        <CheckpointLine words={words} verdict={checked.checkpoint} />
      ) : (
        <p class="bad">{words[checked.file.kind]}</p>
      )}
    </article>
  )
}

function CheckpointLine({ words, verdict }: Pick<Saying, 'words'> & { verdict: CheckpointVerdict }) {
  if (verdict.kind === 'unsigned') return <p class="bad">{words.checkpointUnsigned}</p>
  if (verdict.kind === 'contradicts') return <p class="bad">{words.otherBooks}</p>
  const isFitting = verdict.kind === 'fits'
  return (
    <p class={isFitting ? 'good' : 'open'}>
      <WithSigner text={isFitting ? words.checkpointFits : words.checkpointOther} signer={verdict.signer} />
    </p>
  )
}

type ProvenProps = { readonly data: OfflineData; readonly verdict: Extract<ProofVerdict, { ok: true }> }

function Proven({ data, verdict }: ProvenProps) {
  return verdict.kind === 'entry' ? (
    <Entry data={data} entry={verdict.entry} />
  ) : (
    <Position data={data} position={verdict.position} />
  )
}

function Signed({ words, lang, by }: Saying & { by: Pick<VerifiedEntry, 'signedAt' | 'signedBy'> }) {
  const { signedAt, signedBy } = by
  const text = signedAt ? fill(words.signedAt, { time: exactTime(signedAt, lang) }, lang) : words.signed
  return <WithSigner text={text} signer={signedBy.join(', ')} />
}

function Position({ data: { words, lang, currency }, position }: { data: OfflineData; position: VerifiedPosition }) {
  const money = (minor: bigint) => moneyText(minor, position.currency, currency, lang)
  const values = {
    day: new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(position.day)),
    account: position.account,
    received: money(position.debitedMinor),
    paid: money(position.creditedMinor),
    count: new Intl.NumberFormat(lang).format(position.entries),
  }
  const [before = '', after = ''] = words.position.split('{amount}').map((part) => fill(part, values, lang))
  return (
    <>
      <p class="good">
        {before}
        <bdi class="amount">{money(position.balanceMinor)}</bdi>
        {after} <Signed words={words} lang={lang} by={position} />
      </p>
      <p>{fill(words.positionSums, values, lang)}</p>
    </>
  )
}

function Entry({ data: { words, lang, currency }, entry }: { data: OfflineData; entry: VerifiedEntry }) {
  const { amountMinor, sequence, walletSize, texts } = entry
  const isIn = amountMinor > 0n
  const values = {
    amount: moneyText(isIn ? amountMinor : -amountMinor, entry.currency, currency, lang),
    time: exactTime(entry.at, lang),
    sequence: number(sequence, lang),
    size: number(walletSize, lang),
  }
  const description = texts && [texts.referenceType, texts.referenceId, texts.description].filter(Boolean).join(' · ')
  return (
    <>
      <p class="good">
        {fill(isIn ? words.credit : words.payment, values, lang)} <Signed words={words} lang={lang} by={entry} />
      </p>
      <p>{description === null ? words.erased : <bdi>{fill(words.reference, { text: description }, lang)}</bdi>}</p>
    </>
  )
}

/** In the decimals of the service, or of the language's data for the currency of another one. */
function moneyText(minor: bigint, code: string, own: Currency, lang: string): string {
  const format = new Intl.NumberFormat(lang, { style: 'currency', currency: code })
  const decimals = own.code === code ? own.decimals : (format.resolvedOptions().maximumFractionDigits ?? 2)
  return formatMoney(formatMinor(minor, { code, decimals }) as `${number}`, code, lang)
}
