/** Sending events to an endpoint again, by number or by time: first what it would do, then the order. */
import { maxReplayed, planReplay, replayEvents, type ReplayRange } from '../../actions/webhooks/manage-endpoints.ts'
import type { Endpoint } from '../../store/events/endpoints.ts'
import { countText, Field, Form, Heading, Notice } from '../kit/parts.tsx'
import { redirect, showNotFound, showPage, showProblem } from '../kit/respond.tsx'
import { get, post, type AdminRequest, type AdminRoute } from '../kit/route.ts'
import { endpointPath, endpointsPath, withEndpoint } from './endpoint-parts.tsx'
import { parsePoint, pointHint } from './event-point.ts'

const path = `${endpointsPath}/:id/replay`

export const endpointReplayRoutes: AdminRoute[] = [
  get(path, (request) => withEndpoint(request, showPlan), 'apps'),
  post(path, (request) => withEndpoint(request, replay), 'apps'),
]

export function ReplayForm({ endpoint }: { endpoint: Endpoint }) {
  return (
    <details>
      <summary>Send events again…</summary>
      <p class="small">
        Write {pointHint}. Without an end, the endpoint goes on from there. The next page says what would be sent.
      </p>
      <form method="get" action={`${endpointPath(endpoint)}/replay`} class="row bottom">
        <Field label="From" name="from" />
        <Field label="To (may be empty)" name="to" />
        <button class="button quiet" type="submit">
          Continue
        </button>
      </form>
    </details>
  )
}

/** Two numbers or two times; the end may be missing. */
function parseRange(from: string, to: string): ReplayRange | undefined {
  const [start, end] = [parsePoint(from), to.trim() === '' ? undefined : parsePoint(to)]
  if (start === undefined || (end === undefined && to.trim() !== '')) return undefined
  if (typeof start === 'number')
    return typeof end === 'object' ? undefined : { first: start, ...(end !== undefined && { last: end }) }
  return typeof end === 'number' ? undefined : { from: start, ...(end && { to: end }) }
}

const refusals = {
  nothing:
    'The endpoint has had no event of that range that is still kept. Events that wait for it come by themselves.',
  'too-many': `Those are more than ${countText(maxReplayed)} events. Leave the end empty: the endpoint then goes on from the first of them.`,
}

async function showPlan(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const range = parseRange(request.query('from'), request.query('to'))
  if (!range) return await refuse(request, endpoint, `Write ${pointHint}; both ends in the same way.`)
  const plan = await planReplay(request.service, endpoint.id, range)
  if (!plan) return await showNotFound(request, 'endpoint')
  if (plan.kind !== 'planned') return await refuse(request, endpoint, refusals[plan.kind])
  const { first, last, goesOn } = plan
  const events = textOf(plan, endpoint)
  const title = 'Send events again'
  const body = (
    <>
      <Heading title={title} sub={<code class="breaks">{endpoint.url}</code>} />
      <section class="card stack narrow">
        <p>
          {events} sent again
          {goesOn ? ', in order, and then those that follow.' : ', each by itself, in no particular order.'}
        </p>
        {endpoint.types && <p>The endpoint gets only its types: {endpoint.types.join(', ')}.</p>}
        <p class="muted">Each event keeps its id and its content. A receiver that records ids ignores what it had.</p>
        {endpoint.disabledAt !== null && (
          <Notice kind="warn">The endpoint is disabled: nothing is sent until it is enabled.</Notice>
        )}
        <Form request={request} action={`${endpointPath(endpoint)}/replay`} class="row">
          <input type="hidden" name="first" value={first} />
          <input type="hidden" name="last" value={goesOn ? '' : last} />
          <button class="button" type="submit">
            Send again
          </button>
          <a class="button quiet" href={endpointPath(endpoint)}>
            Cancel
          </a>
        </Form>
      </section>
    </>
  )
  return await showPage(request, { title, here: 'apps', body })
}

/** How many events of the endpoint's types are between the first and the last one. */
function textOf({ first, last, count }: { first: number; last: number; count: number }, { types }: Endpoint): string {
  if (first === last && count === 1) return `Event ${countText(first)} is`
  const isMore = types !== null && count === maxReplayed
  const range = `${countText(first)} to ${countText(last)}`
  return `Of the events ${range}, ${isMore ? 'at least ' : ''}${countText(count)} ${count === 1 ? 'is' : 'are'}`
}

const refuse = (request: AdminRequest, endpoint: Endpoint, text: string) =>
  showProblem(request, 422, text, {}, { href: endpointPath(endpoint), text: 'Back to the endpoint' })

/** The page that said what it will do has the numbers, so they are the same now. */
async function replay(request: AdminRequest, endpoint: Endpoint): Promise<Response> {
  const [first, last] = [parsePoint(request.form.text('first')), parsePoint(request.form.text('last'))]
  const isOpen = request.form.text('last') === ''
  if (typeof first !== 'number' || (!isOpen && typeof last !== 'number'))
    return await refuse(request, endpoint, 'Write the numbers of the first and the last event.')
  const range = { first, ...(typeof last === 'number' && { last }) }
  const plan = await replayEvents(request.service, request.actor, endpoint.id, range)
  if (!plan) return await showNotFound(request, 'endpoint')
  if (plan.kind !== 'added') return await refuse(request, endpoint, refusals[plan.kind])
  return redirect(`${endpointPath(endpoint)}?done=events-${plan.goesOn ? 'go-on' : 'replayed'}`)
}
