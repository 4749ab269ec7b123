/** The reference inspector: the first use of a reference, and how later uses differed. */
import { isArchived } from '../store/closing/archived-entries.ts'
import { inspectReceipt, inspectReference, type Inspected } from '../actions/money/inspect-reference.ts'
import { isUuid } from '../actions/tokens.ts'
import { receiptCodeOf } from '../ledger/receipt-code.ts'
import { maxReferenceIdLength, maxReferenceTypeLength, serviceNamespace } from '../ledger/reference.ts'
import type { App } from '../store/apps.ts'
import { listCorrectionsAbout, type Correction } from '../store/corrections.ts'
import { findHoldsOfEntries } from '../store/books/hold-lists.ts'
import { transactionIdOf } from '../store/outcomes.ts'
import { listPeople, type Person } from '../store/people/user-search.ts'
import { CorrectionMarks } from './kit/correction-marks.tsx'
import { HoldMark } from './kit/hold-table.tsx'
import { Badge, Copy, Empty, Facts, Field, Heading, Money, Table, When } from './kit/parts.tsx'
import { showPage } from './kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from './kit/route.ts'
import { Owner } from './kit/topup-table.tsx'

export const referenceRoutes: AdminRoute[] = [get('/admin/references', showReferences)]

async function showReferences(request: AdminRequest): Promise<Response> {
  const { service } = request
  const apps = await service.apps.list()
  const [app, type, id] = [request.query('app'), request.query('type'), request.query('id')]
  const code = request.query('code').trim()
  const byCode = code === '' ? [] : await inspectReceipt(service, code)
  const archived = byCode && isArchived(byCode) ? byCode : undefined
  const isAsked = id !== ''
  const reference = { type: type || undefined, id, owner: app || undefined }
  const byReference = isAsked ? await inspectReference(service, reference) : []
  const found = [...(byCode && !isArchived(byCode) ? byCode : []), ...byReference]
  const people = await peopleOf(request, found)
  const corrections = await listCorrectionsAbout(service.db.pool, {
    ids: found.flatMap(({ app: by, first }) => (!by && isUuid(first.referenceId ?? '') ? [first.referenceId!] : [])),
    keys: found.map(({ first }) => first.referenceKey),
  })
  const holds = await holdsOf(request, found)
  const body = (
    <>
      <Heading title="Reference inspector" sub="The outcome of a debit or credit, and every repeat of it." />
      <form class="card row bottom" method="get" action="/admin/references">
        <Field label="App" name="app" value={app} options={ownerOptions(apps)} />
        <Field
          label="referenceType"
          name="type"
          value={type}
          attributes={{ maxlength: 2 * maxReferenceTypeLength, list: 'types', placeholder: 'Any' }}
        />
        <datalist id="types">
          {['ORDER_PAYMENT', 'ORDER_REFUND', 'SUBSCRIPTION_CHARGE', 'TOPUP', 'BONUS', 'CORRECTION'].map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
        <div class="stretch">
          <Field
            label="referenceId"
            name="id"
            value={id}
            attributes={{ required: true, maxlength: 2 * maxReferenceIdLength }}
          />
        </div>
        <button class="button" type="submit">
          Inspect
        </button>
      </form>
      <form class="card row bottom" method="get" action="/admin/references">
        <div class="stretch">
          <Field
            label="Receipt code"
            name="code"
            value={code}
            attributes={{ required: true, maxlength: 40, autocomplete: 'off' }}
          />
        </div>
        <button class="button" type="submit">
          Find the transaction
        </button>
      </form>
      {archived && (
        <section class="card">
          <Empty title="In the archive">
            <p>
              This receipt is of an archived transaction of{' '}
              <Money minor={archived.amountMinor} currency={service.config.currency} isSigned />.{' '}
              <a href={`/admin/wallets/${archived.walletId}`}>The wallet</a>
            </p>
          </Empty>
        </section>
      )}
      {code !== '' && found.length === 0 && !archived && (
        <section class="card">
          <Empty title={byCode ? 'No such receipt' : 'Not a receipt code'}>
            <p>
              A code has twelve characters, such as <code>7K2M-9QXR-4TBV</code>. The last one is a check character.{' '}
              {byCode && 'This code is well-formed, but no transaction has it.'}
            </p>
          </Empty>
        </section>
      )}
      {found.map((inspected) => (
        <ReferenceStory
          key={inspected.first.referenceKey}
          request={request}
          inspected={inspected}
          people={people}
          corrections={corrections}
          holdId={holds.get(inspected.first.referenceKey)}
        />
      ))}
      {isAsked && found.length === 0 && (
        <section class="card">
          <Empty title="Never used">
            <p>
              No debit or credit with this reference was posted or refused{app && ' for this app'}. Case and spaces
              matter. A request that was malformed, or refused before it reached the wallet, leaves no outcome, so its
              reference is still free.
            </p>
          </Empty>
        </section>
      )}
      {!isAsked && code === '' && (
        <section class="card">
          <Empty title="Inspect a reference">
            <p>
              Take referenceType and referenceId from the app’s records. A reference moves money once. Repeats get the
              first answer again and are listed here.
            </p>
          </Empty>
        </section>
      )}
    </>
  )
  return await showPage(request, { title: 'References', here: 'references', body })
}

/** Its time and its entry are in files. */
const inArchive = 'in the archive, with its description: npx billfold archive restore brings a period back'

function ownerOptions(apps: readonly App[]): [string, string][] {
  return [
    ['', 'Any'],
    [serviceNamespace, 'The service itself'],
    ...apps.map((app): [string, string] => [app.clientId, app.name]),
  ]
}

async function peopleOf({ service }: AdminRequest, found: readonly Inspected[]): Promise<Map<string, Person>> {
  const ids = new Set(found.flatMap(({ first, later }) => [first.walletId, ...later.map((use) => use.walletId)]))
  return new Map((await listPeople(service.db.pool, [...ids])).map((person) => [person.id, person]))
}

/** The hold that each entry captured, by the key of the entry. */
async function holdsOf({ service }: AdminRequest, found: readonly Inspected[]): Promise<Map<string, string>> {
  const all = await Promise.all(
    found.map(async ({ first: { referenceKey, walletId, sequence } }) => {
      if (sequence === null) return []
      const holdId = (await findHoldsOfEntries(service.db.pool, walletId, [sequence])).get(sequence)
      return holdId ? [[referenceKey, holdId] as const] : []
    }),
  )
  return new Map(all.flat())
}

type StoryProps = {
  request: AdminRequest
  inspected: Inspected
  people: ReadonlyMap<string, Person>
  corrections: readonly Correction[]
  holdId: string | undefined
}

function ReferenceStory({ request, inspected, people, corrections, holdId }: StoryProps) {
  const { app, first, later } = inspected
  const { currency } = request.service.config
  const isDebit = first.amountMinor < 0n
  const referenceId = first.referenceId ?? ''
  const result = first.refusal ? (
    <>
      <Badge kind="bad">refused</Badge> <code>{first.refusal}</code>, at a balance of{' '}
      <Money minor={first.balanceMinor} currency={currency} />. Every repeat gets this answer. A new attempt needs a new
      referenceId.
    </>
  ) : (
    <>
      <Badge kind="good">posted</Badge> {first.at && `entry ${first.sequence}, `}balance after{' '}
      <Money minor={first.balanceMinor} currency={currency} />
    </>
  )
  return (
    <section class="card stack">
      <h2>{app ? app.name : 'The service itself'}</h2>
      <Facts
        rows={[
          ['First use', first.at ? <When at={first.at} /> : inArchive],
          ['By', app ? <a href={`/admin/client-apps/${app.clientId}`}>{app.name}</a> : 'the service itself'],
          ['User', <Owner owners={people} id={first.walletId} />],
          [isDebit ? 'Debit' : 'Credit', <Money minor={first.amountMinor} currency={currency} isSigned />],
          ['Outcome', result],
          ...(first.at ? [['Description', first.description ?? 'none'] as const] : []),
          ...(first.sequence === null
            ? []
            : [['Receipt code', <Copy label="receipt code" text={receiptCodeOf(first.referenceKey)} />] as const]),
          ...(corrections.some((each) => each.id === referenceId || each.corrects === first.referenceKey)
            ? [
                [
                  'Corrections',
                  <CorrectionMarks corrections={corrections} entry={{ ...first, referenceId }} />,
                ] as const,
              ]
            : []),
          ...(holdId === undefined ? [] : [['Hold', <HoldMark holdId={holdId} />] as const]),
          ['transactionId', <Copy label="transactionId" text={transactionIdOf(first.referenceKey)} />],
        ]}
      />
      <h2>Later uses</h2>
      {later.length === 0 ? (
        <p class="muted">No repeats.</p>
      ) : (
        <Table label="Later uses" head={['Requested', 'User', 'Differs in', 'Times', 'First', 'Last']}>
          {later.map((use, i) => (
            <tr key={i}>
              <td>
                {use.amountMinor < 0n ? 'Debit' : 'Credit'}{' '}
                <Money minor={use.amountMinor} currency={currency} isSigned />
              </td>
              <td>
                <Owner owners={people} id={use.walletId} />
              </td>
              <td>
                {use.mismatch.length === 0 ? (
                  <span class="muted">nothing: an exact repeat</span>
                ) : (
                  use.mismatch.map((field) => (
                    <>
                      <Badge kind="warn">{field}</Badge>{' '}
                    </>
                  ))
                )}
              </td>
              <td>{use.times}</td>
              <td>
                <When at={use.firstAt} />
              </td>
              <td>
                <When at={use.lastAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
