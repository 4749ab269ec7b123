/** The form of a client app's settings, and the parser of its fields. */
import type { AppInput } from '../../actions/apps/manage-apps.ts'
import { scopes, type AppSettings } from '../../store/apps.ts'
import { linesOf, type Form } from '../kit/form.ts'
import { Field } from '../kit/parts.tsx'

/** Reads only these fields; others change nothing. */
export function inputOf(form: Form): AppInput {
  return {
    name: form.text('name'),
    allowedOrigins: linesOf(form.text('allowedOrigins')),
    allowedIframeParents: linesOf(form.text('allowedIframeParents')),
    scopes: form.list('scopes'),
    strictReferences: form.isChecked('strictReferences'),
    accentColor: form.text('accentColor').trim() || null,
    logoUrl: form.text('logoUrl').trim() || null,
    maxOperations: form.text('maxOperations').trim(),
  }
}

/** The values of the fields: the operator's text as typed, even when it is invalid. */
export type Typed = Readonly<
  Record<'name' | 'allowedOrigins' | 'allowedIframeParents' | 'accentColor' | 'logoUrl' | 'maxOperations', string>
> & {
  readonly scopes: readonly string[]
  readonly strictReferences: boolean
}

export function typedOf(form: Form): Typed {
  return {
    name: form.text('name'),
    allowedOrigins: form.text('allowedOrigins'),
    allowedIframeParents: form.text('allowedIframeParents'),
    accentColor: form.text('accentColor'),
    logoUrl: form.text('logoUrl'),
    maxOperations: form.text('maxOperations'),
    scopes: form.list('scopes'),
    strictReferences: form.isChecked('strictReferences'),
  }
}

export function typedOfSettings(settings: AppSettings): Typed {
  return {
    ...settings,
    allowedOrigins: settings.allowedOrigins.join('\n'),
    allowedIframeParents: settings.allowedIframeParents.join('\n'),
    accentColor: settings.accentColor ?? '',
    logoUrl: settings.logoUrl ?? '',
    maxOperations: settings.maxOperations === null ? '' : String(settings.maxOperations),
  }
}

export const newApp: Typed = {
  name: '',
  allowedOrigins: '',
  allowedIframeParents: '',
  accentColor: '',
  logoUrl: '',
  maxOperations: '',
  scopes: [...scopes],
  strictReferences: false,
}

const scopeTexts = {
  'wallet:read': 'Read wallets and check balances',
  'wallet:write': 'Debit and credit',
} as const

export function AppFields({ typed, problems }: { typed: Typed; problems: Readonly<Record<string, string>> }) {
  return (
    <>
      <Field
        label="Name"
        name="name"
        value={typed.name}
        hint="Users see it in the widget."
        problem={problems['name']}
        attributes={{ required: true, maxlength: 100 }}
      />
      <Field
        label="Allowed origins"
        name="allowedOrigins"
        rows={3}
        value={typed.allowedOrigins}
        hint="Where the app’s front end runs. One origin per line, such as https://shop.example."
        problem={problems['allowedOrigins']}
        attributes={{ spellcheck: 'false' }}
      />
      <Field
        label="Allowed iframe parents"
        name="allowedIframeParents"
        rows={3}
        value={typed.allowedIframeParents}
        hint="The pages that may embed the widget. Scheme, host and port must match exactly."
        problem={problems['allowedIframeParents']}
        attributes={{ spellcheck: 'false' }}
      />
      <fieldset class="stack tight">
        <legend class="small">
          <strong>Scopes</strong>
        </legend>
        {scopes.map((scope) => (
          <label class="choice" key={scope}>
            <input type="checkbox" name="scopes" value={scope} checked={typed.scopes.includes(scope)} />
            <span>
              <code>{scope}</code>
              <small>{scopeTexts[scope]}</small>
            </span>
          </label>
        ))}
        {problems['scopes'] && <p class="problem">{problems['scopes']}</p>}
      </fieldset>
      <label class="choice">
        <input type="checkbox" name="strictReferences" checked={typed.strictReferences} />
        <span>
          Strict references
          <small>
            A repeated reference with different content is refused with 409, instead of being answered with the first
            outcome.
          </small>
        </span>
      </label>
      <Field
        label="Operations under way"
        name="maxOperations"
        value={typed.maxOperations}
        hint="How many debits and credits the app may have under way in each process, and a quarter as many reads. Beyond it, its calls get 429. Empty for the default of the service."
        problem={problems['maxOperations']}
        attributes={{ inputmode: 'numeric', maxlength: 7 }}
      />
      <details open={Boolean(typed.accentColor || typed.logoUrl || problems['accentColor'] || problems['logoUrl'])}>
        <summary>Branding of the widget</summary>
        <div class="columns">
          <Field
            label="Accent colour"
            name="accentColor"
            value={typed.accentColor}
            hint="As #rrggbb. The widget keeps text legible on any colour."
            problem={problems['accentColor']}
            attributes={{ placeholder: '#0e5a47', maxlength: 7 }}
          />
          <Field
            label="Logo address"
            name="logoUrl"
            type="url"
            value={typed.logoUrl}
            hint="An image with an https address."
            problem={problems['logoUrl']}
          />
        </div>
      </details>
    </>
  )
}
