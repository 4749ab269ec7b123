/** The origin doctor: whether a page can embed the widget, and if not, what to change. */
import type { Check, CheckState } from '../../actions/apps/examine-embedding.ts'
import { diagnoseEmbedding } from '../../actions/apps/read-embedding.ts'
import { Icon, type IconName } from '../kit/icons.tsx'
import { Copy, Empty, Field, Heading, Notice } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { get, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const doctorRoutes: AdminRoute[] = [get('/admin/origin-doctor', showDoctor)]

async function showDoctor(request: AdminRequest): Promise<Response> {
  const { service } = request
  const [page, outer, parentOrigin, clientId] = [
    request.query('page'),
    request.query('outer'),
    request.query('parentOrigin'),
    request.query('app'),
  ]
  const apps = await service.apps.list()
  const diagnosis = page ? await diagnoseEmbedding(service, { page, outer, parentOrigin, clientId }) : undefined
  const body = (
    <>
      <Heading
        title="Origin doctor"
        sub="Enter the address of the page that embeds the widget, and see what would stop it."
      />
      <form class="card stack" method="get" action="/admin/origin-doctor">
        <Field
          label="Page address"
          name="page"
          value={page}
          attributes={{ required: true, placeholder: 'https://shop.example/wallet', inputmode: 'url' }}
        />
        <details open={Boolean(outer || parentOrigin || clientId)}>
          <summary>More options</summary>
          <div class="columns">
            <Field
              label="App"
              name="app"
              value={clientId}
              options={[['', 'Find by origin'], ...apps.map((app): [string, string] => [app.clientId, app.name])]}
            />
            <Field
              label="parentOrigin the backend sends"
              name="parentOrigin"
              value={parentOrigin}
              attributes={{ placeholder: 'https://shop.example' }}
            />
            <Field
              label="Page that frames that page, if any"
              name="outer"
              value={outer}
              attributes={{ placeholder: 'https://portal.example' }}
            />
          </div>
        </details>
        <div>
          <button class="button" type="submit">
            Examine
          </button>
        </div>
      </form>
      {diagnosis?.problem !== undefined && <Notice kind="bad">{diagnosis.problem}</Notice>}
      {diagnosis?.checks && <Verdict checks={diagnosis.checks} />}
      {!diagnosis && (
        <section class="card">
          <Empty title="What it checks">
            <p>
              Whether the origin is an allowed parent (including scheme, port and subdomain), HTTPS, sandbox, outer
              frames, parentOrigin, a missing Referer, opener and content policies. The same as{' '}
              <code>npx billfold doctor &lt;page-url&gt;</code>.
            </p>
          </Empty>
        </section>
      )}
    </>
  )
  return await showPage(request, { title: 'Origin doctor', here: 'doctor', body })
}

const icons: Record<CheckState, IconName> = { good: 'check', warn: 'warn', bad: 'cross', unknown: 'dash' }
const words: Record<CheckState, string> = { good: 'Good', warn: 'Warning', bad: 'Would fail', unknown: 'Not checked' }

function Verdict({ checks }: { checks: readonly Check[] }) {
  const bad = checks.filter((check) => check.state === 'bad').length
  return (
    <section class="card stack">
      {bad > 0 ? (
        <Notice kind="bad">The widget would not show: {bad === 1 ? 'one check fails' : `${bad} checks fail`}.</Notice>
      ) : (
        <Notice kind="good">Nothing would stop the widget from showing.</Notice>
      )}
      <div class="checks">
        {checks.map((check) => (
          <div class={`check ${check.state}`} key={check.name}>
            <Icon name={icons[check.state]} />
            <strong>
              {check.name}
              <span class="visually-hidden">: {words[check.state]}</span>
            </strong>
            <p>{check.text}</p>
            {check.fix && check.state !== 'good' && <Copy label="the fix" text={check.fix} isBlock />}
          </div>
        ))}
      </div>
    </section>
  )
}
