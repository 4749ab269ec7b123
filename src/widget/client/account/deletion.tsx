/** The export of the user's data, and the deletion of the account or the reason why it is not possible yet. */
import { call, type Failure } from '../call.ts'
import { PasswordField } from '../fields.tsx'
import { Icon } from '../icons.tsx'
import { usePage } from '../page-context.tsx'
import { PaperForm } from '../paper-window.tsx'
import { Notice, Support } from '../parts.tsx'
import type { AccountInfo, PartProps } from './account.tsx'
import { AccountForm, type Values } from './part-form.tsx'

const reasonWords = {
  hold: 'keptHold',
  balance: 'keptBalance',
  debt: 'keptDebt',
  frozen: 'keptFrozen',
  topup: 'keptTopup',
  dispute: 'keptDispute',
} as const

export function Data() {
  const { say } = usePage<'account'>()
  return (
    <>
      <p class="muted">{say('myDataText')}</p>
      <PaperForm fields={{ kind: 'data' }} needs="presence" label={say('openData')}>
        <button type="submit" class="button">
          <Icon name="window" />
          {say('openData')}
        </button>
      </PaperForm>
    </>
  )
}

type DeleteProps = PartProps & { info: AccountInfo; held: string; onHolds: () => void }

export function Delete({ info, held, onHolds, token, onLeave }: DeleteProps) {
  const { say } = usePage<'account'>()

  async function deleteAccount(values: Values): Promise<Failure | undefined> {
    const { failure } = await call('account/delete', token, values)
    if (!failure) onLeave()
    return failure
  }

  const reasonText = (reason: string) => say(reasonWords[reason as keyof typeof reasonWords] ?? 'keptFrozen')
  // An open top-up may still be cancelled: only the attempt to delete the account finds out.
  if (info.keptReason && info.keptReason !== 'topup')
    return (
      <Notice tone="warn" icon="lock" title={say('keptTitle')}>
        {reasonText(info.keptReason)}{' '}
        {info.keptReason === 'hold' ? (
          <button type="button" class="link-button" onClick={onHolds}>
            {held}
          </button>
        ) : (
          info.keptReason !== 'dispute' && <Support />
        )}
      </Notice>
    )
  return (
    <>
      <p>{say('deleteText')}</p>
      <p class="muted">{say('deleteLater')}</p>
      {info.hasPassword ? (
        <AccountForm
          button={say('deletePermanently')}
          isDanger
          check={({ password = '' }) => ({ password: password === '' ? say('needed') : undefined })}
          send={deleteAccount}
          explain={({ code, reason }) => {
            if (code === 'INVALID_CREDENTIALS') return { password: say('passwordWrong') }
            return reason === undefined ? undefined : { form: reasonText(reason) }
          }}
        >
          {(problems) => <PasswordField isNew="no" label={say('currentPassword')} problem={problems['password']} />}
        </AccountForm>
      ) : (
        <p>{say('passwordForgotten')}</p>
      )}
    </>
  )
}
