/** Form fields: a label, an input, a hint and a problem. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { usePage } from './page-context.tsx'
import { Icon } from './icons.tsx'

type FieldProps = {
  name: string
  label: string
  autoComplete: string
  maxLength: number
  type?: 'text' | 'email' | 'password'
  inputMode?: 'text' | 'email' | 'numeric' | 'decimal'
  isName?: boolean
  class?: string
  value?: string
  hint?: string | undefined
  problem?: string | undefined
  children?: ComponentChildren
}

export function Field(props: FieldProps) {
  const { name, hint, problem, type = 'text', isName = false } = props
  const id = `field-${name}`
  const notes = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  const attributes = {
    id,
    name,
    class: props.class,
    inputMode: props.inputMode,
    autoComplete: props.autoComplete,
    autoCapitalize: isName ? 'words' : 'none',
    spellcheck: false,
    maxLength: props.maxLength,
    defaultValue: props.value,
    required: true,
    'aria-invalid': problem ? true : undefined,
    'aria-describedby': notes || undefined,
  } as const
  // Three branches, because the types need a literal `type`. Preact keeps the same input in all three, so the typed text
  // stays when a password is shown.
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <div class="field-box">
        {type === 'password' ? (
          <input {...attributes} type="password" />
        ) : type === 'email' ? (
          <input {...attributes} type="email" />
        ) : (
          <input {...attributes} type="text" />
        )}
        {props.children}
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  )
}

type PasswordFieldProps = {
  isNew: 'no' | 'first' | 'changed'
  problem: string | undefined
  name?: string
  label?: string
}

export function PasswordField({ isNew, problem, name = 'password', label }: PasswordFieldProps) {
  const { words, say } = usePage()
  const [isShown, setShown] = useState(false)
  return (
    <Field
      name={name}
      // Names the service: a user inside a shop's page would otherwise type the shop's password.
      label={label ?? (isNew === 'changed' ? words.newPassword : isNew === 'no' ? say('passwordAt') : words.password)}
      type={isShown ? 'text' : 'password'}
      autoComplete={isNew === 'no' ? 'current-password' : 'new-password'}
      maxLength={512}
      problem={problem}
      hint={isNew === 'no' ? undefined : words.passwordHint}
    >
      <button
        type="button"
        class="reveal"
        aria-label={isShown ? words.hidePassword : words.showPassword}
        aria-pressed={isShown}
        onClick={() => setShown(!isShown)}
      >
        <Icon name="eye" />
      </button>
    </Field>
  )
}

export function EmailField({ value, problem }: { value: string; problem: string | undefined }) {
  const { words } = usePage()
  return (
    <Field
      name="email"
      label={words.email}
      type="email"
      inputMode="email"
      autoComplete="username"
      maxLength={254}
      value={value}
      problem={problem}
    />
  )
}

export function CodeField({ problem }: { problem: string | undefined }) {
  const { words } = usePage()
  return (
    <Field
      name="code"
      label={words.code}
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={12}
      class="code-input"
      problem={problem}
    />
  )
}
