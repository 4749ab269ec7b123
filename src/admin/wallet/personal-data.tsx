/** Requests of a user that come by post: the data as a file, and the deletion of the account, which needs two operators. */
import type { ComponentChildren } from 'preact'
import { findDependence, isSamePerson, type Dependence } from '../../actions/operators/independence.ts'
import type { KeptReason } from '../../actions/people/delete-account.ts'
import { describeKept, findReasonNow } from '../../actions/people/request-deletion.ts'
import type { Operator } from '../../store/operators.ts'
import { findNewestDeletion, type RequestedDeletion } from '../../store/people/deletions.ts'
import type { Person } from '../../store/people/user-search.ts'
import type { WalletRow } from '../../store/wallets.ts'
import type { Problems } from '../kit/amount-and-reason.tsx'
import { actorName } from '../kit/audit-table.tsx'
import { WhyNot } from '../kit/grants.tsx'
import { Badge, Facts, Field, Form, Notice, When } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'

export type PersonalState = {
  /** The newest request for a deletion, in any state. */
  readonly deletion: RequestedDeletion | undefined
  readonly kept: KeptReason | undefined
  /** Why this operator is no second person for a waiting request. */
  readonly dependence: Dependence | undefined
}

export async function readPersonalData(request: AdminRequest, { id, email }: Person): Promise<PersonalState> {
  const db = request.service.db.pool
  const [deletion, kept] = await Promise.all([
    findNewestDeletion(db, id),
    email === null ? undefined : findReasonNow(db, id),
  ])
  const isForMe = deletion?.state === 'waiting' && may(request, 'people')
  const who = isForMe && { approver: request.actor.name, asker: deletion.askedBy }
  return { deletion, kept, dependence: who ? await findDependence(db, who) : undefined }
}

/** At the top of the page: an operator who works on the account should know that it may be deleted. */
export function WaitingDeletion({ personal: { deletion } }: { personal: PersonalState }) {
  if (deletion?.state !== 'waiting') return null
  return (
    <Notice kind="warn">
      A deletion of this account waits for a second operator. <a href="#personal-data">See the request</a>
    </Notice>
  )
}

type Props = {
  request: AdminRequest
  person: Person
  wallet: WalletRow
  personal: PersonalState
  operators: readonly Operator[]
  problems: Problems
}

export function PersonalData(props: Props) {
  const { request, person, personal, operators } = props
  const { deletion } = personal
  const mayAct = may(request, 'people') && person.email !== null
  if (!deletion && !mayAct) return null
  return (
    <section class="card stack" id="personal-data">
      <h2>Personal data</h2>
      {deletion && <Request deletion={deletion} operators={operators} />}
      {mayAct && deletion?.state === 'waiting' && <Decision {...props} deletion={deletion} />}
      {mayAct && <Export {...props} />}
      {mayAct && deletion?.state !== 'waiting' && <Ask {...props} />}
    </section>
  )
}

const stateTexts: Readonly<Record<RequestedDeletion['state'], readonly [text: string, kind: '' | 'warn' | 'bad']>> = {
  waiting: ['waits for a second operator', 'warn'],
  approved: ['account deleted', 'bad'],
  declined: ['declined', ''],
  withdrawn: ['withdrawn', ''],
  expired: ['expired', ''],
  overtaken: ['the user deleted the account', 'bad'],
}

const decidedTexts = { approved: 'Approved by', declined: 'Declined by', withdrawn: 'Withdrawn by' } as const

function Request({ deletion, operators }: { deletion: RequestedDeletion; operators: readonly Operator[] }) {
  const { state, reason, askedBy, askedAt, expiresAt, decidedBy, decidedAt, decisionReason } = deletion
  const [text, kind] = stateTexts[state]
  const by = (actor: string, at: Date | null) => (
    <>
      <bdi>{actorName(operators, actor)}</bdi>, <When at={at} />
    </>
  )
  const rows: (readonly [string, ComponentChildren])[] = [
    ['Deletion', <Badge kind={kind}>{text}</Badge>],
    ['Requested by', by(askedBy, askedAt)],
    ['Reason', reason],
  ]
  if (state === 'waiting') rows.push(['Expires', <When at={expiresAt} />])
  if (state === 'expired') rows.push(['Expired', <When at={expiresAt} />])
  if (state === 'overtaken') rows.push(['Deleted by the user', <When at={decidedAt} />])
  if (state === 'approved' || state === 'declined' || state === 'withdrawn')
    rows.push([decidedTexts[state], by(decidedBy!, decidedAt)])
  if (decisionReason !== null) rows.push(['Decision reason', decisionReason])
  return <Facts rows={rows} />
}

type DecisionProps = Props & { deletion: RequestedDeletion }

function Decision(props: DecisionProps) {
  const { request, person, deletion, wallet, personal, operators, problems } = props
  const base = `/admin/wallets/${person.id}/deletion`
  const which = <input type="hidden" name="deletion" value={deletion.id} />
  if (isSamePerson(deletion.askedBy, request.actor.name))
    return (
      <>
        <p>
          You requested this. Another operator with the role support or admin must approve it. Until then the account
          stays as it is.
        </p>
        <Kept wallet={wallet} kept={personal.kept} request={request} />
        <Form request={request} action={`${base}/withdraw`}>
          {which}
          <button class="button quiet" type="submit">
            Withdraw the request
          </button>
        </Form>
      </>
    )
  return (
    <>
      {personal.dependence ? (
        <WhyNot dependence={personal.dependence} asker={deletion.askedBy} operators={operators} />
      ) : personal.kept ? (
        <Kept wallet={wallet} kept={personal.kept} request={request} />
      ) : (
        <Form request={request} action={`${base}/approve`} class="stack">
          {which}
          <p>
            Check yourself who asked, and that it is this account. The deletion cannot be undone: names, email, notes
            and sessions go, the ledger stays.
          </p>
          <div>
            <button class="button danger" type="submit">
              Approve: delete the account now
            </button>
          </div>
        </Form>
      )}
      <details class="action" open={problems['declineReason'] !== undefined}>
        <summary>Decline the deletion</summary>
        <Form request={request} action={`${base}/decline`} class="stack">
          {which}
          <Reason
            {...props}
            name="declineReason"
            label="Reason for declining"
            hint="For the operators and the audit log. The user does not see it."
          />
          <div>
            <button class="button small" type="submit">
              Decline
            </button>
          </div>
        </Form>
      </details>
    </>
  )
}

function Export(props: Props) {
  return (
    <details class="action" open={props.problems['dataReason'] !== undefined}>
      <summary>Download the user’s data</summary>
      <Form request={props.request} action={`/admin/wallets/${props.person.id}/data`} class="stack" data-file>
        <p>
          The same file that the user gets under “My data”. It is not kept here. The user is mailed that it was made.
        </p>
        <Reason {...props} name="dataReason" label="Reason for the download" hint={auditHint} />
        <div>
          <button class="button small" type="submit">
            Download the data
          </button>
        </div>
      </Form>
    </details>
  )
}

function Ask(props: Props) {
  const { request, person, wallet, personal, problems } = props
  return (
    <details class="action" open={problems['deletionReason'] !== undefined}>
      <summary>Delete the account</summary>
      {personal.kept ? (
        <Kept wallet={wallet} kept={personal.kept} request={request} />
      ) : (
        <Form request={request} action={`/admin/wallets/${person.id}/deletion`} class="stack">
          <p>
            A second operator must approve it within 7 days. The user is mailed now, and can object. The rules are those
            of the user’s own deletion.
          </p>
          <Reason {...props} name="deletionReason" label="Reason for the deletion" hint={auditHint} />
          <div>
            <button class="button small danger" type="submit">
              Request the deletion
            </button>
          </div>
        </Form>
      )}
    </details>
  )
}

const auditHint =
  'For the audit log, which is never deleted: how the request came and how you checked who sent it, without names and addresses.'

function Kept({ request, wallet, kept }: { request: AdminRequest; wallet: WalletRow; kept: KeptReason | undefined }) {
  if (!kept) return null
  return (
    <Notice kind="warn">
      The account cannot be deleted now. {describeKept(kept, wallet.balanceMinor, request.service.config.currency)}
    </Notice>
  )
}

type ReasonProps = Pick<Props, 'request' | 'problems'> & { name: string; label: string; hint: string }

function Reason({ request, problems, name, label, hint }: ReasonProps) {
  return (
    <Field
      label={label}
      name={name}
      value={request.form.text(name)}
      hint={hint}
      problem={problems[name]}
      attributes={{ required: true, maxlength: 500 }}
    />
  )
}
