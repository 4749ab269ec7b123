/** The proof on a paper: the QR code that leads to the public page of the receipt, and the link to the file that proves the entry. */
import { findProofState, findReceiptUrl, verifyPath } from '../actions/proofs/check-receipt.ts'
import { proveEntry } from '../actions/proofs/prove-entry.ts'
import { orderProof, type OrderedPaper } from '../actions/money/order-paper.ts'
import type { Service } from '../actions/service.ts'
import type { Language } from '../languages/languages.ts'
import type { Transfer } from '../store/wallets.ts'
import { plainHeaders } from '../web/headers.ts'
import { QrPicture } from '../web/qr-picture.tsx'

export type PaperProof = {
  /** The entry is not what was sealed. */
  readonly isContradicted: boolean
  /** The link works once. Undefined while the entry cannot be proven. */
  readonly fileUrl: string | undefined
  /** The public page of the receipt. */
  readonly receiptUrl: string | undefined
  /** The page that checks files. */
  readonly checkUrl: string
}

/** Seals the entry where it is newer than the last seal. A paper is shown also where that fails. */
export async function readPaperProof(service: Service, ordered: OrderedPaper, transfer: Transfer): Promise<PaperProof> {
  const state = await findProofState(service, transfer)
  return {
    isContradicted: state === 'contradiction',
    fileUrl: state === 'proof' ? await orderProof(service, ordered, transfer.sequence) : undefined,
    receiptUrl: await findReceiptUrl(service, transfer),
    checkUrl: `${service.config.publicUrl}${verifyPath}`,
  }
}

/** Longer addresses do not fit into a code that every camera reads. */
const maxQrBytes = 213

/** `hasQr`: for a receipt, which is about one entry. */
export function ProofSection({ language, proof, hasQr }: { language: Language; proof: PaperProof; hasQr: boolean }) {
  const { paper: words } = language
  const { fileUrl, receiptUrl, checkUrl } = proof
  return (
    <section class="proof">
      {hasQr && receiptUrl && (
        <div class="check">
          {receiptUrl.length <= maxQrBytes && <QrPicture text={receiptUrl} label={words.qrLabel} />}
          <div class="side">
            <p>{words.qrText}</p>
            <p class="address">
              <a href={receiptUrl}>{words.qrLink}</a>
            </p>
          </div>
        </div>
      )}
      {fileUrl ? (
        <ProofNote text={hasQr ? words.proofText : words.statementProof} url={checkUrl} />
      ) : (
        <p class="note">{proof.isContradicted ? language.verify.differsText : words.proofLater}</p>
      )}
      {fileUrl && (
        <details id="earlier" hidden data-not-proof={words.notProof} data-since={words.sinceEntry}>
          <summary>{words.earlierProof}</summary>
          <p>
            <label for="earlier-file">{words.earlierText}</label>
          </p>
          <input id="earlier-file" type="file" accept=".txt,text/plain" />
          <p id="earlier-state" role="status" />
        </details>
      )}
    </section>
  )
}

function ProofNote({ text, url }: { text: string; url: string }) {
  const [before, after] = text.split('{address}')
  return (
    <p class="note">
      {before}
      <a href={url} dir="ltr">
        {new URL(url).host}
        <wbr />
        {verifyPath}
      </a>
      {after}
    </p>
  )
}

/** The file. `since` is the size of the wallet in an earlier proof. Undefined while the entry cannot be proven. */
export async function proofFile(
  service: Service,
  userId: string,
  sequence: number,
  since: string | undefined,
): Promise<Response | 'archived' | undefined> {
  const wanted = { walletId: userId, sequence }
  const size = since !== undefined && /^[1-9]\d{0,14}$/.test(since) ? Number(since) : undefined
  const continued = await proveEntry(service, { ...wanted, since: size })
  // The wallet has fewer entries than the earlier proof says: the new one says how many it has, and the two are compared.
  const result = continued.kind === 'not-since' ? await proveEntry(service, wanted) : continued
  if (result.kind === 'archived') return result.kind
  if (result.kind !== 'proof') return undefined
  const headers = {
    ...plainHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename="proof-${sequence}.txt"`,
  }
  return new Response(result.file, { headers })
}
