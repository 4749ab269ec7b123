/** The form that resolves a difference or a contradiction by hand, with a reason for the audit log. */
import type { ComponentChildren } from 'preact'
import { Field, Form } from '../kit/parts.tsx'
import { may, type AdminRequest } from '../kit/route.ts'

type ResolveFormProps = {
  request: AdminRequest
  action: string
  /** What the form resolves, by field name. */
  subject: Readonly<Record<string, string>>
  problem: string | undefined
  /** What resolving means. */
  children: ComponentChildren
}

export function ResolveForm({ request, action, subject, problem, children }: ResolveFormProps) {
  if (!may(request, 'settle')) return null
  return (
    <section class="card stack">
      <h2>Resolve by hand</h2>
      <p>{children}</p>
      <Form request={request} action={action} class="stack">
        {Object.entries(subject).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Field
          label="Reason"
          name="reason"
          value={request.form.text('reason')}
          hint="For the audit log."
          problem={problem}
          attributes={{ required: true, maxlength: 500 }}
        />
        <div>
          <button class="button" type="submit">
            Resolve
          </button>
        </div>
      </Form>
    </section>
  )
}
