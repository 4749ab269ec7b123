/** Registers all pages and actions of the admin area. */
import { PasswordsBusy } from '../actions/people/passwords.ts'
import type { Service } from '../actions/service.ts'
import { faultFields } from '../platform/log.ts'
import { isRetryable } from '../store/writer/posting.ts'
import type { RequestContext, WebApp } from '../web/request-context.ts'
import { accessLists } from './operators/access-lists.tsx'
import { accountRoutes } from './operators/account.tsx'
import { auditRoutes } from './audit.tsx'
import { booksRoutes } from './books/books.tsx'
import { clientAppRoutes } from './client-app/client-app.tsx'
import { endpointRoutes } from './client-app/client-app-endpoint.tsx'
import { endpointsRoutes } from './client-app/client-app-endpoints.tsx'
import { endpointReplayRoutes } from './client-app/endpoint-replay.tsx'
import { clientAppEventsRoutes } from './client-app/client-app-events.tsx'
import { clientAppLedgerRoutes } from './client-app/client-app-ledger.ts'
import { newClientAppRoutes } from './client-app/client-app-new.tsx'
import { secretRoutes } from './client-app/client-app-secrets.tsx'
import { clientAppsRoutes } from './client-app/client-apps.tsx'
import { correctRoutes } from './wallet/correct.tsx'
import { correctionList, correctionRoutes } from './corrections.tsx'
import { contradictionRoutes } from './reconciliation/contradiction.tsx'
import { differenceRoutes } from './reconciliation/difference.tsx'
import type { DeskList } from './kit/desk-list.tsx'
import { answerTo } from './kit/guard.ts'
import { personalDataRoutes } from './wallet/personal-data-forms.tsx'
import { operatorRoutes } from './operators/operators.tsx'
import { holdsRoutes } from './holds/holds.tsx'
import { holdRoutes } from './holds/hold-page.tsx'
import { doctorRoutes } from './client-app/origin-doctor.tsx'
import { overviewRoutes } from './overview/overview.tsx'
import { reconciliationRoutes } from './reconciliation/reconciliation.tsx'
import { reconciliationLists } from './reconciliation/reconciliation-lists.tsx'
import { referenceRoutes } from './references.tsx'
import { showNotFound, showProblem } from './kit/respond.tsx'
import type { AdminRoute, PublicRequest } from './kit/route.ts'
import { searchRoutes } from './search/search.tsx'
import { secondFactorRoutes } from './operators/second-factor.tsx'
import { settlementList } from './client-app/settlement-list.tsx'
import { settlementRoutes } from './client-app/settlements.tsx'
import { oidcRoutes } from './operators/oidc.tsx'
import { signInRoutes } from './operators/sign-in.tsx'
import { deletionList } from './wallet/deletion-list.tsx'
import { operatorNotes } from './wallet/note-list.tsx'
import { statementRoutes } from './wallet/statement.ts'
import { topupRoutes } from './topups/topup.tsx'
import { topupsRoutes } from './topups/topups.tsx'
import { walletRoutes } from './wallet/wallet.tsx'
import { walletsRoutes } from './wallet/wallets.tsx'
import { welcomeRoutes } from './operators/welcome.tsx'
import { workRoutes } from './work.tsx'

/** The lists of the tables that people write to. */
export const deskLists: readonly DeskList[] = [
  correctionList,
  settlementList,
  operatorNotes,
  deletionList,
  ...reconciliationLists,
  ...accessLists,
]

export const adminRoutes: readonly AdminRoute[] = [
  ...signInRoutes,
  ...oidcRoutes,
  ...secondFactorRoutes,
  ...welcomeRoutes,
  ...overviewRoutes,
  ...searchRoutes,
  ...newClientAppRoutes,
  ...clientAppsRoutes,
  ...clientAppRoutes,
  ...clientAppEventsRoutes,
  ...endpointsRoutes,
  ...endpointRoutes,
  ...endpointReplayRoutes,
  ...clientAppLedgerRoutes,
  ...secretRoutes,
  ...settlementRoutes,
  ...walletsRoutes,
  ...walletRoutes,
  ...personalDataRoutes,
  ...correctRoutes,
  ...deskLists.flatMap(({ routes }) => routes),
  ...correctionRoutes,
  ...statementRoutes,
  ...topupsRoutes,
  ...topupRoutes,
  ...holdsRoutes,
  ...holdRoutes,
  ...referenceRoutes,
  ...booksRoutes,
  ...reconciliationRoutes,
  ...differenceRoutes,
  ...contradictionRoutes,
  ...workRoutes,
  ...auditRoutes,
  ...doctorRoutes,
  ...operatorRoutes,
  ...accountRoutes,
]

/** Answers any other path below /admin. */
const elsewhere: AdminRoute = {
  method: 'GET',
  path: '/admin/*',
  access: 'view',
  handle: (request) => showNotFound(request),
}

export function adminPages(service: Service, web: WebApp): void {
  for (const route of [...adminRoutes, elsewhere]) {
    web.on(route.method, route.path, async (c) => {
      c.env.route = route.path
      return await answerTo(service, route, c.req.raw, c.req.param(), c.env).catch((error: unknown) =>
        showFault(service, c.req.raw, c.env, error),
      )
    })
  }
}

async function showFault(service: Service, raw: Request, env: RequestContext, error: unknown): Promise<Response> {
  const isAway = error instanceof PasswordsBusy || isRetryable(error)
  const { requestId, route } = env
  service.log[isAway ? 'warn' : 'error']('an admin page failed', { requestId, route, ...faultFields(error) })
  const request = { service, raw, query: () => '', me: undefined } as unknown as PublicRequest
  const text = isAway
    ? 'The service is busy or its database is unavailable. Try again shortly.'
    : `Something unexpected happened. Find it in the log under ${requestId}.`
  return await showProblem(request, isAway ? 503 : 500, text)
}
