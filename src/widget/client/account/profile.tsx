/** The forms for name, email, password and language. */
import { useState } from 'preact/hooks'
import { languageName } from '../../../languages/language-name.ts'
import { call, type Failure } from '../call.ts'
import { Field, PasswordField } from '../fields.tsx'
import { usePage } from '../page-context.tsx'
import { isLanguageGiven } from '../use-language.ts'
import type { AccountInfo, PartProps } from './account.tsx'
import { AccountForm, type Problems, type Values } from './part-form.tsx'

type ProfileProps = PartProps & { info: AccountInfo }

const isEmpty = (value: string | undefined) => (value ?? '').trim() === ''

/** A check that reports which of the given fields are empty. */
function useNeeded() {
  const { say } = usePage<'account'>()
  return (values: Values, fields: readonly string[]): Problems =>
    Object.fromEntries(fields.map((field) => [field, isEmpty(values[field]) ? say('needed') : undefined]))
}

export function Names({ info, token, onDone }: ProfileProps) {
  const { say } = usePage<'account'>()
  const needed = useNeeded()
  const fields = ['firstName', 'lastName'] as const

  async function saveNames(values: Values): Promise<Failure | undefined> {
    const { failure } = await call('account/names', token, values)
    if (!failure) onDone(say('saved'))
    return failure
  }

  const explain = ({ fields: wrong }: Failure) =>
    Object.keys(wrong).length > 0
      ? Object.fromEntries(Object.keys(wrong).map((field) => [field, say('needed')]))
      : undefined
  return (
    <AccountForm button={say('save')} check={(values) => needed(values, fields)} send={saveNames} explain={explain}>
      {(problems) => (
        <div class="pair">
          {fields.map((name) => (
            <Field
              key={name}
              name={name}
              label={say(name)}
              autoComplete={name === 'firstName' ? 'given-name' : 'family-name'}
              isName
              maxLength={100}
              value={info[name]}
              problem={problems[name]}
            />
          ))}
        </div>
      )}
    </AccountForm>
  )
}

export function Email({ info, token, onDone }: ProfileProps) {
  const { say } = usePage<'account'>()
  const [asked, setAsked] = useState('')
  const needed = useNeeded()

  async function begin({ email = '' }: Values): Promise<Failure | undefined> {
    const { failure } = await call('account/email', token, { email: email.trim() })
    if (!failure) setAsked(email.trim())
    return failure
  }

  async function confirm(values: Values): Promise<Failure | undefined> {
    const digits = (name: string) => (values[name] ?? '').replace(/[\s-]/g, '')
    const sent = { email: asked, oldCode: digits('oldCode'), newCode: digits('newCode') }
    const { failure } = await call('account/email/confirm', token, sent)
    if (!failure) onDone(say('emailChanged'))
    return failure
  }

  if (asked === '')
    return (
      <>
        <p class="muted">{say('emailText')}</p>
        <p class="account-value">
          <bdi>{info.email}</bdi>
        </p>
        <AccountForm
          key="begin"
          button={say('sendCodes')}
          check={(values) => needed(values, ['email'])}
          send={begin}
          explain={({ fields }) => {
            if (!('email' in fields)) return undefined
            return { email: say(fields['email']?.startsWith('is the') ? 'emailSame' : 'emailWrong') }
          }}
        >
          {(problems) => (
            <Field
              name="email"
              label={say('emailNew')}
              type="email"
              inputMode="email"
              autoComplete="email"
              maxLength={254}
              problem={problems['email']}
            />
          )}
        </AccountForm>
      </>
    )
  const wrong = { oldCode: say('codesWrong') }
  const codes = [
    ['oldCode', info.email],
    ['newCode', asked],
  ] as const
  return (
    <>
      <p class="muted">{say('codesText')}</p>
      <AccountForm
        key="confirm"
        button={say('changeEmail')}
        check={(values) => needed(values, ['oldCode', 'newCode'])}
        send={confirm}
        explain={({ code, fields }) =>
          code === 'INVALID_CODE' || 'oldCode' in fields || 'newCode' in fields ? wrong : undefined
        }
      >
        {(problems) =>
          codes.map(([name, email]) => (
            <Field
              key={name}
              name={name}
              label={say('codeSentTo', { email })}
              inputMode="numeric"
              autoComplete="one-time-code"
              maxLength={12}
              class="code-input"
              problem={problems[name]}
            />
          ))
        }
      </AccountForm>
      <p class="under">
        <button type="button" class="link-button" onClick={() => setAsked('')}>
          {say('otherEmail')}
        </button>
      </p>
    </>
  )
}

export function Password({ info, token, onDone }: ProfileProps) {
  const { say } = usePage<'account'>()
  const needed = useNeeded()

  async function changePassword(values: Values): Promise<Failure | undefined> {
    const { failure } = await call('account/password', token, values)
    if (!failure) onDone(say('passwordChanged'))
    return failure
  }

  function check(values: Values): Problems {
    const { length } = Array.from(values['newPassword'] ?? '')
    const problems = needed(values, ['password', 'newPassword'])
    const isLong = length >= 8 && length <= 256
    return { ...problems, newPassword: problems['newPassword'] ?? (isLong ? undefined : say('passwordLength')) }
  }

  const explain = ({ code }: Failure): Problems | undefined => {
    if (code === 'INVALID_CREDENTIALS') return { password: say('passwordWrong') }
    return code === 'WEAK_PASSWORD' ? { newPassword: say('passwordWeak') } : undefined
  }
  if (!info.hasPassword) return <p>{say('passwordForgotten')}</p>
  return (
    <>
      <p class="muted">{say('passwordText')}</p>
      <AccountForm button={say('changePassword')} check={check} send={changePassword} explain={explain}>
        {(problems) => (
          <>
            {/* Lets password managers store the new password for this email. */}
            <input type="hidden" name="email" autoComplete="username" value={info.email} />
            <PasswordField isNew="no" label={say('currentPassword')} problem={problems['password']} />
            <PasswordField isNew="changed" name="newPassword" problem={problems['newPassword']} />
          </>
        )}
      </AccountForm>
      <p class="muted">{say('passwordForgotten')}</p>
    </>
  )
}

type LanguagesProps = ProfileProps & { onLanguage: (lang: string) => Promise<void> }

export function Languages({ info, token, onDone, onLanguage }: LanguagesProps) {
  const { lang, languages, say } = usePage<'account'>()
  const isGiven = isLanguageGiven()
  const chosen = info.language ?? lang

  async function saveLanguage({ language = chosen }: Values): Promise<Failure | undefined> {
    const { failure } = await call('account/language', token, { language })
    if (failure) return failure
    await onLanguage(language)
    onDone(say('saved'))
    return undefined
  }

  return (
    <>
      <p class="muted">{say(isGiven ? 'languageGiven' : 'languageText')}</p>
      <AccountForm button={say('save')} check={() => ({})} send={saveLanguage} explain={() => undefined}>
        {() => (
          <fieldset class="radios">
            <legend class="visually-hidden">{say('language')}</legend>
            {Object.keys(languages ?? {}).map((code) => (
              <label key={code} class="radio">
                <input type="radio" name="language" value={code} defaultChecked={code === chosen} />
                <span lang={code}>{languageName(code)}</span>
              </label>
            ))}
          </fieldset>
        )}
      </AccountForm>
    </>
  )
}
