/** Checks events and webhooks: do events get their numbers, and do endpoints get their events? Pure. */
import type { Check } from '../apps/examine-embedding.ts'
import type { DatabaseGauges } from '../../store/database-gauges.ts'
import type { TroubledApp } from '../../store/events/endpoint-lag.ts'
import type { StalledApp } from '../../store/events/stalled-events.ts'

export type EventFacts = {
  readonly gauges: Pick<DatabaseGauges, 'unnumberedSeconds' | 'endpoints'>
  /** Why the job that gives numbers fails; undefined when it does not. */
  readonly numbererError: string | undefined
  /** Apps whose events wait for a row of the journal that cannot become events. */
  readonly stalled: readonly StalledApp[]
  /** Apps with endpoints that are ill or that the service disabled. */
  readonly troubled: readonly TroubledApp[]
  /** Endpoints with an address that is not https. */
  readonly plainEndpoints: number
  readonly isProduction: boolean
}

/** A number comes within a second; later than this, apps notice. */
export const unnumberedLimitSeconds = 30

export function examineEvents(facts: EventFacts): Check[] {
  return [checkNumbers(facts), checkEndpoints(facts), ...checkPlain(facts)]
}

function checkNumbers({ gauges: { unnumberedSeconds }, numbererError, stalled }: EventFacts): Check {
  const name = 'Events'
  const fix = 'docs/operations/runbooks.md#events-get-no-numbers.'
  const why = numbererError === undefined ? '' : ` The job number-events fails: ${numbererError}`
  if (stalled.length > 0) {
    const apps = stalled.map(({ clientId, name: app, row }) => `${app ?? clientId} (row ${row} of the journal)`)
    const text = `Events of ${apps.join(', ')} get no numbers: the row cannot become events.${why}`
    return { name, state: 'bad', text, fix }
  }
  if (unnumberedSeconds >= unnumberedLimitSeconds)
    return {
      name,
      state: 'bad',
      text: `Events have been waiting for their numbers for ${Math.round(unnumberedSeconds)} s, and no app gets them.${why || ' No process numbers them.'}`,
      fix,
    }
  if (why !== '') return { name, state: 'warn', text: why.trim(), fix }
  return { name, state: 'good', text: 'Every event has its number.' }
}

function checkEndpoints({ gauges: { endpoints }, troubled }: EventFacts): Check {
  const name = 'Webhooks'
  const total = Object.values(endpoints).reduce((sum, { count }) => sum + count, 0)
  const byOperator = endpoints['disabled-by-operator'].count
  const off = byOperator === 0 ? '' : ` An operator disabled ${byOperator}.`
  if (troubled.length === 0)
    return {
      name,
      state: 'good',
      text:
        total === 0 ? 'There are no endpoints.' : `${total} endpoint(s), none ill or disabled by the service.${off}`,
    }
  const text = `${endpoints.ill.count} endpoint(s) are ill and ${endpoints['disabled-by-service'].count} disabled by the service, of ${troubled.map(({ name: app }) => app).join(', ')}.${off}`
  const pages = troubled.map(({ clientId }) => `/admin/client-apps/${clientId}/events`).join(', ')
  return { name, state: 'warn', text, fix: `See why: ${pages}. docs/operations/runbooks.md#a-webhook-endpoint-fails.` }
}

/** Such endpoints were added in development, or came with a copy. */
function checkPlain({ plainEndpoints, isProduction }: EventFacts): Check[] {
  if (plainEndpoints === 0 || !isProduction) return []
  const text = `${plainEndpoints} endpoint(s) get events over plain HTTP: anyone on the network path can read and change them.`
  return [{ name: 'Webhooks over https', state: 'bad', text, fix: 'Add each with https, and remove the old one.' }]
}
