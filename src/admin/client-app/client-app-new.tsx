/** Registering a client app. */
import { createApp, parseAppSettings } from '../../actions/apps/manage-apps.ts'
import { AppFields, inputOf, newApp, typedOf, type Typed } from './client-app-form.tsx'
import { Form, Heading, Notice } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import { showSecret } from './client-app-secrets.tsx'
import { FormId, takeOnce } from './shown-once.tsx'
import { get, post, type AdminRoute, type AdminRequest } from '../kit/route.ts'

export const newClientAppRoutes: AdminRoute[] = [
  get('/admin/client-apps/new', (request) => showNewApp(request, newApp, {}), 'apps'),
  post('/admin/client-apps', registerApp, 'apps'),
]

async function showNewApp(
  request: AdminRequest,
  typed: Typed,
  problems: Readonly<Record<string, string>>,
): Promise<Response> {
  const hasProblems = Object.keys(problems).length > 0
  const body = (
    <>
      <Heading title="Register an app" sub="The next page shows its credentials, once." />
      {hasProblems && <Notice kind="bad">Check the fields below.</Notice>}
      <Form request={request} action="/admin/client-apps" class="card stack">
        <FormId />
        <AppFields typed={typed} problems={problems} />
        <div class="row">
          <button class="button" type="submit">
            Register
          </button>
          <a class="button quiet" href="/admin/client-apps">
            Cancel
          </a>
        </div>
      </Form>
    </>
  )
  return await showPage(request, { title: 'Register an app', here: 'apps', body, ...(hasProblems && { status: 422 }) })
}

async function registerApp(request: AdminRequest): Promise<Response> {
  const { service, form, actor } = request
  const checked = parseAppSettings(inputOf(form), service.config)
  if (checked.problems) return await showNewApp(request, typedOf(form), checked.problems)
  const refused = await takeOnce(request, {
    subject: 'app',
    content: { settings: JSON.stringify(checked.settings) },
    again: 'This form was already sent. The app is in the list of client apps.',
  })
  if (refused) return refused
  const { clientId, clientSecret } = await createApp(service, actor, checked.settings)
  return await showSecret(request, {
    clientId,
    clientSecret,
    name: checked.settings.name,
    title: 'The app is registered',
  })
}
