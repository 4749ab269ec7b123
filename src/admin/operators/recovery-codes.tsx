import { Copy } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import type { PublicRequest } from '../kit/route.ts'

/** The only page that shows the recovery codes: the database stores only their hashes. */
export async function showRecoveryCodes(request: PublicRequest, codes: readonly string[]): Promise<Response> {
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>Save your recovery codes</h1>
        <p class="muted">
          Each code signs you in once if you lose your phone. They are not shown again: print them, or store them in a
          password manager.
        </p>
      </div>
      <Copy label="recovery codes" text={codes.join('\n')} isBlock />
      <a class="button" href="/admin">
        I have saved them
      </a>
    </section>
  )
  return await showPage(request, { title: 'Save your recovery codes', body })
}
