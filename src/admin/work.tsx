/** Work that happens later: what waits, what failed and why, and running it again. */
import { runWorkAgain } from '../actions/run-work-again.ts'
import {
  failuresToReport,
  getWorkLevels,
  listFailedWork,
  type FailedWork,
  type WorkLevel,
} from '../store/work/work-report.ts'
import { workKinds, type WorkKind } from '../store/work/work.ts'
import { Badge, countText, Empty, Form, Heading, Table, When } from './kit/parts.tsx'
import { redirect, showPage, showProblem } from './kit/respond.tsx'
import { get, may, post, type AdminRequest, type AdminRoute } from './kit/route.ts'

export const workRoutes: AdminRoute[] = [get('/admin/work', showWork), post('/admin/work/again', runAgain, 'work')]

const kindTexts: Readonly<Record<FailedWork['kind'], string>> = {
  'resolve-topup': 'Check a card top-up',
  'send-mail': 'Send a mail',
  'send-farewell': 'Send the last mail of a deleted account',
  'send-operator-mail': 'Send a mail to an operator',
  'reconcile-day': 'Reconcile a day',
  'post-correction': 'Post a correction',
  'post-bonus': 'Post a bonus',
  'find-first-payment': 'Find a first payment',
  'deliver-sandbox-webhook': 'Deliver sandbox webhooks',
  'deliver-event': 'Deliver an event to an endpoint',
  'expire-holds': 'Close expired holds of a wallet that the sweep could not close',
  'publish-checkpoint': 'Publish the newest checkpoint of the books',
  job: 'Periodic job',
}

const shownFailed = 200

async function showWork(request: AdminRequest): Promise<Response> {
  const db = request.service.db.longRunning.pool
  const [levels, failed] = await Promise.all([getWorkLevels(db), listFailedWork(db, shownFailed)])
  const body = (
    <>
      <Heading title="Background work" sub="What the service does later, by itself. All processes together." />
      <section class="card flush">
        <div class="heading">
          <h2>Failed</h2>
          <p class="muted">Retried by itself unless it is given up. Red after {failuresToReport} failures in a row.</p>
        </div>
        <Failed request={request} failed={failed} />
      </section>
      <section class="card flush">
        <div class="heading">
          <h2>Waiting</h2>
        </div>
        <Waiting levels={levels} />
      </section>
    </>
  )
  return await showPage(request, { title: 'Background work', here: 'work', body })
}

function Failed({ request, failed }: { request: AdminRequest; failed: readonly FailedWork[] }) {
  if (failed.length === 0)
    return (
      <Empty title="Nothing failed">
        <p>Work whose last run failed appears here, with the reason.</p>
      </Empty>
    )
  const mayRun = may(request, 'work')
  const head = ['Work', 'Reason', 'Failed', ...(mayRun ? ['Run'] : [])]
  return (
    <Table label="Failed" head={head}>
      {failed.map((work) => (
        <tr key={`${work.kind} ${work.key}`}>
          <td>
            {kindTexts[work.kind]}
            <br />
            <Subject work={work} />
          </td>
          <td class="wide">
            <State work={work} />
            <br />
            {work.lastError ?? 'Its process ended while it ran. Whether it was done is unknown.'}
          </td>
          <td>
            <When at={work.failedAt ?? work.givenUpAt} />
            <br />
            <span class="small muted">
              {work.dueAt ? (
                <>
                  next attempt <When at={work.dueAt} />
                </>
              ) : (
                work.kind === 'job' && 'runs again at its next turn'
              )}
            </span>
          </td>
          {mayRun && <td class="end">{work.kind !== 'job' && <RunAgain request={request} work={work} />}</td>}
        </tr>
      ))}
    </Table>
  )
}

function Subject({ work: { kind, key } }: { work: FailedWork }) {
  const code = <code>{key}</code>
  return kind === 'resolve-topup' ? <a href={`/admin/topups/${key}`}>{code}</a> : code
}

function State({ work: { failures, givenUpAt } }: { work: FailedWork }) {
  if (givenUpAt) return <Badge kind="bad">given up</Badge>
  const text = failures === 1 ? 'failed once' : `failed ${countText(failures)} times`
  return <Badge kind={failures >= failuresToReport ? 'bad' : 'warn'}>{text}</Badge>
}

function RunAgain({ request, work: { kind, key } }: { request: AdminRequest; work: FailedWork }) {
  return (
    <Form request={request} action="/admin/work/again">
      <input type="hidden" name="kind" value={kind} />
      <input type="hidden" name="key" value={key} />
      <button class="button quiet small nowrap" type="submit" aria-label={`Run again: ${kindTexts[kind]} ${key}`}>
        Run again
      </button>
    </Form>
  )
}

function Waiting({ levels }: { levels: Readonly<Record<WorkKind, WorkLevel>> }) {
  return (
    <Table label="Waiting" head={['Kind of work', ['Waiting'], ['Running'], ['Overdue'], ['Need a person']]}>
      {workKinds.map((kind) => {
        const { waiting, running, lateSeconds, failing } = levels[kind]
        return (
          <tr key={kind}>
            <td>{kindTexts[kind]}</td>
            <td class="number">{countText(waiting)}</td>
            <td class="number">{countText(running)}</td>
            <td class="number">{lateSeconds < 1 ? '–' : `${countText(Math.round(lateSeconds))} s`}</td>
            <td class="number">{failing > 0 ? <Badge kind="bad">{countText(failing)}</Badge> : '–'}</td>
          </tr>
        )
      })}
    </Table>
  )
}

async function runAgain(request: AdminRequest): Promise<Response> {
  const { service, actor, form } = request
  const work = { kind: form.text('kind'), key: form.text('key') }
  if (await runWorkAgain(service, actor, work)) return redirect('/admin/work?done=work-again')
  return await showProblem(request, 409, 'This work has not failed, or it is running again already.')
}
