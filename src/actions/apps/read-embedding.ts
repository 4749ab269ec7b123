/** Reads a page that embeds the widget, and checks it against the registered apps. */
import type { App } from '../../store/apps.ts'
import { examineEmbedding, type Check, type PageFacts } from './examine-embedding.ts'
import { fetchPublic, isPublicAddress, NotPublic, type PublicAnswer } from '../public-fetch.ts'
import type { Service } from '../service.ts'
import { findTags } from './html-tags.ts'

const headers = { accept: 'text/html', 'user-agent': 'billfold doctor' }
const bounds = { maxBytes: 512 * 1024, timeoutMs: 5_000 }

export type EmbeddingQuestion = {
  readonly page: string
  readonly outer?: string
  readonly parentOrigin?: string
  readonly clientId?: string
}

export type Diagnosis =
  | { readonly problem: string; readonly checks?: never }
  | { readonly url: URL; readonly app: App | undefined; readonly checks: readonly Check[]; readonly problem?: never }

export async function diagnoseEmbedding(service: Service, question: EmbeddingQuestion): Promise<Diagnosis> {
  const url = parseAddress(question.page)
  if (!url) return { problem: 'Write the whole address of the page, such as https://shop.example/wallet.' }
  const outer = question.outer ? parseAddress(question.outer) : undefined
  if (question.outer && !outer) return { problem: 'Write the whole address of the outer page, or leave it empty.' }
  const apps = await service.apps.list()
  const listing = apps.filter((app) => app.isActive && app.allowedIframeParents.includes(url.origin))
  const named = apps.find((app) => app.clientId === question.clientId)
  if (question.clientId && !named) return { problem: 'There is no app with this clientId.' }
  const app = named ?? (listing.length === 1 ? listing[0] : undefined)
  const isOnlyApp = app !== undefined && apps.every((each) => each === app || !each.isActive)
  const { publicUrl, isProduction } = service.config
  // In development pages are on this machine; in production the service must not read its own network for a caller.
  const page = await readPage(url, publicUrl, isProduction ? isPublicAddress : () => true)
  const parentOrigin = question.parentOrigin || undefined
  return {
    url,
    app,
    checks: examineEmbedding({ url, outer, parentOrigin, app, listing, isOnlyApp, page, publicUrl, isProduction }),
  }
}

function parseAddress(text: string): URL | undefined {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.length > 2_000 || !URL.canParse(trimmed)) return undefined
  const url = new URL(trimmed)
  return url.username || url.password ? undefined : url
}

export async function readPage(
  url: URL,
  publicUrl: string,
  isAllowed: (address: string) => boolean,
): Promise<PageFacts | { problem: string }> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { problem: `${url.protocol} is not read` }
  try {
    return factsOf(await fetchPublic(url, headers, bounds, { isAllowed }), publicUrl)
  } catch (error) {
    return { problem: error instanceof NotPublic ? 'its address is not on the public internet' : 'it did not answer' }
  }
}

function factsOf(page: PublicAnswer, publicUrl: string): PageFacts {
  const html = Buffer.from(page.bytes).toString('utf8')
  const header = (name: string) => {
    const value = page.headers[name]
    return value === undefined ? null : String(value).slice(0, 4_000)
  }
  const metas = findTags(html, 'meta')
  const meta = metas.find((each) => each['name']?.toLowerCase() === 'referrer')?.['content'] ?? null
  const policy = metas.find((each) => each['http-equiv']?.toLowerCase() === 'content-security-policy')?.['content']
  const { host } = new URL(publicUrl)
  return {
    status: page.status,
    location: header('location'),
    referrerPolicy: meta ?? header('referrer-policy'),
    openerPolicy: header('cross-origin-opener-policy'),
    contentPolicy: header('content-security-policy') ?? policy ?? null,
    frames: findTags(html, 'iframe').filter((frame) => (frame['src'] ?? '').includes(host)),
  }
}
