/** With OIDC_ONLY an admin must be able to sign in while the provider is away. */
import { countLocalAdmins } from '../../../store/operator-access/operator-identities.ts'
import type { Service } from '../../service.ts'

/** The problem in words; undefined if there is a way in. */
export async function findNoWayIn({ config, db }: Pick<Service, 'config' | 'db'>): Promise<string | undefined> {
  if (!config.oidc?.isOnly || (await countLocalAdmins(db.pool)) > 0) return undefined
  return (
    'OIDC_ONLY: no active admin has a password and a second factor, so the admin area would be closed while the identity provider is away. ' +
    'Leave OIDC_ONLY out, create an admin with npx billfold admin create, sign in once to set up the second factor, then set OIDC_ONLY=1.'
  )
}
