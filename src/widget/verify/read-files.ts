/** Reads files that a person chose: proofs and checkpoints, and everything else that people choose by mistake. */
import { findSigners, parseCheckpoint, parseNote, parseSignerKey } from '../../../sdk/verify/note.ts'
import { parseProof } from '../../../sdk/verify/proof-file.ts'
import { compareProofs, verifyProof, type HistoryVerdict, type ProofVerdict } from '../../../sdk/verify.ts'

/** Larger than any proof or checkpoint: nothing larger is read. */
const maxBytes = 200_000

export type ReadFile = { readonly name: string } & (
  | { readonly kind: 'proof' | 'checkpoint'; readonly text: string }
  | { readonly kind: 'empty' | 'tooLarge' | 'notText' | 'notProof' }
)

export async function readFile(file: File): Promise<ReadFile> {
  const { name, size } = file
  if (size === 0) return { name, kind: 'empty' }
  if (size > maxBytes) return { name, kind: 'tooLarge' }
  const text = await decode(file)
  if (text === undefined || text.includes('\0')) return { name, kind: 'notText' }
  if (parseProof(text)) return { name, kind: 'proof', text }
  const note = parseNote(text)
  return note && parseCheckpoint(note.text) ? { name, kind: 'checkpoint', text } : { name, kind: 'notProof' }
}

/** Undefined for bytes that are no text. */
async function decode(file: File): Promise<string | undefined> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
    return text.replaceAll('\r\n', '\n')
  } catch {
    return undefined
  }
}

export type CheckpointVerdict =
  | { readonly kind: 'unsigned' }
  /** `fits`: a proof here is of the same state. `other`: no proof here is. `contradicts`: one is of the same log and size, and differs. */
  | { readonly kind: 'fits' | 'other' | 'contradicts'; readonly signer: string }

export type CheckedFile =
  | { readonly file: Exclude<ReadFile, { text: string }> }
  | { readonly file: ReadFile; readonly verdict: ProofVerdict }
  | { readonly file: ReadFile; readonly checkpoint: CheckpointVerdict }

export type Checked = { readonly files: readonly CheckedFile[]; readonly history: HistoryVerdict | undefined }

/** One proof, two of them, and a checkpoint. */
export async function checkFiles(files: readonly ReadFile[], keys: readonly string[]): Promise<Checked> {
  const proofs = files.flatMap((file) => (file.kind === 'proof' ? [file.text] : []))
  const [one, other] = proofs
  const checked: CheckedFile[] = []
  for (const file of files) {
    if (file.kind === 'proof') checked.push({ file, verdict: await verifyProof(file.text, { keys }) })
    else if (file.kind === 'checkpoint')
      checked.push({ file, checkpoint: await checkCheckpoint(file.text, proofs, keys) })
    else checked.push({ file: file as Exclude<ReadFile, { text: string }> })
  }
  const history = one !== undefined && other !== undefined ? await compareProofs([one, other], { keys }) : undefined
  return { files: checked, history }
}

async function checkCheckpoint(
  text: string,
  proofs: readonly string[],
  keys: readonly string[],
): Promise<CheckpointVerdict> {
  const note = parseNote(text)!
  const { origin, size } = parseCheckpoint(note.text)!
  const known = (await Promise.all(keys.map(parseSignerKey))).filter((key) => key !== null)
  const [signer] = (await findSigners(note, known)).filter(({ name }) => name === origin)
  if (!signer) return { kind: 'unsigned' }
  let kind: 'fits' | 'other' = 'other'
  for (const proof of proofs) {
    const verdict = await verifyProof(proof, { keys, checkpoint: text })
    if (!verdict.ok && verdict.fault === 'OTHER_BOOKS') return { kind: 'contradicts', signer: signer.name }
    if (!verdict.ok) continue
    const proven = verdict.kind === 'entry' ? verdict.entry : verdict.position
    if (proven.origin === origin && proven.logSize === size) kind = 'fits'
  }
  return { kind, signer: signer.name }
}
