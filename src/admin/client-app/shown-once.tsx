/** Forms whose answer shows a secret: sent once, shown once. And the rotation of a secret, with an overlap. */
import type { ComponentChildren } from 'preact'
import { overlaps, type Overlap } from '../../actions/apps/manage-apps.ts'
import { takeForm } from '../../actions/operators/manage-sessions.ts'
import { isUuid } from '../../actions/tokens.ts'
import { Field, Form, Heading, Notice } from '../kit/parts.tsx'
import { otherContent, showPage, showProblem } from '../kit/respond.tsx'
import type { AdminRequest } from '../kit/route.ts'

export function FormId() {
  return <input type="hidden" name="form" value={crypto.randomUUID()} />
}

type Order = {
  readonly subject: string
  readonly content: Readonly<Record<string, string>>
  /** What a person reads who sends the form again. */
  readonly again?: string
}

/**
 * The response shows a secret, so it cannot be a redirect, and a reload sends the form again. The form's id is accepted once, so a reload
 * does nothing a second time. Undefined for the first time.
 */
export async function takeOnce(
  request: AdminRequest,
  { subject, content, again = 'This form was already sent, and the secret was shown then.' }: Order,
): Promise<Response | undefined> {
  const id = request.form.text('form')
  if (!isUuid(id)) return await showProblem(request, 422, 'This form is incomplete. Start again from the client apps.')
  const taken = await takeForm(request.service, { id, subject, content })
  if (taken === 'other') return await showProblem(request, 409, otherContent)
  return taken === 'repeat' ? await showProblem(request, 409, again) : undefined
}

type Shown = {
  readonly title: string
  readonly sub: ComponentChildren
  readonly note: string
  /** Where the page leads, also by a reload. */
  readonly address: string
  readonly children: ComponentChildren
}

/** The only page that shows a secret. The response is neither logged nor cached. */
export async function showOnce(
  request: AdminRequest,
  { title, sub, note, address, children }: Shown,
): Promise<Response> {
  const body = (
    <>
      <Heading title={title} sub={sub} />
      <section class="card stack" data-address={address}>
        <Notice kind="warn">This is the only time the secret is shown. {note}</Notice>
        {children}
        <p>
          <a class="button" href={address}>
            I have saved it
          </a>
        </p>
      </section>
    </>
  )
  return await showPage(request, { title, here: 'apps', body })
}

const overlapLabels: Record<Overlap, string> = {
  none: 'Ends now',
  '1h': 'Valid for 1 hour',
  '24h': 'Valid for 24 hours',
  '7d': 'Valid for 7 days',
}

const known = Object.keys(overlaps) as Overlap[]

export function RotateForm({ request, action }: { request: AdminRequest; action: string }) {
  return (
    <Form request={request} action={action} class="row bottom">
      <FormId />
      <Field
        label="The old secret"
        name="overlap"
        value="24h"
        options={known.map((overlap) => [overlap, overlapLabels[overlap]])}
      />
      <button class="button" type="submit">
        Create a new secret
      </button>
    </Form>
  )
}

/** The overlap that the form chose, once; a refusal otherwise. */
export async function takeRotation(
  request: AdminRequest,
  subject: string,
): Promise<
  { readonly overlap: Overlap; readonly refused?: never } | { readonly overlap?: never; readonly refused: Response }
> {
  const overlap = known.find((each) => each === request.form.text('overlap'))
  if (!overlap) return { refused: await showProblem(request, 422, 'Choose how long the old secret stays valid.') }
  const refused = await takeOnce(request, { subject, content: { overlap } })
  return refused ? { refused } : { overlap }
}
