import { Copy } from '../kit/parts.tsx'
import { showPage } from '../kit/respond.tsx'
import type { PublicRequest } from '../kit/route.ts'

/** The only page that shows the recovery codes: the database keeps their hashes alone. */
export async function showRecoveryCodes(request: PublicRequest, codes: readonly string[]): Promise<Response> {
  const body = (
    <section class="card stack narrow">
      <div>
        <h1>Keep your recovery codes</h1>
        <p class="muted">
          Each signs you in once when the phone is gone. They are not shown again: print them, or put them into a
          password manager.
        </p>
      </div>
      <Copy label="recovery codes" text={codes.join('\n')} isBlock />
      <a class="button" href="/admin">
        I have kept them
      </a>
    </section>
  )
  return await showPage(request, { title: 'Keep your recovery codes', body })
}
