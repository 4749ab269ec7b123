/** Checks whether a page can embed the widget, and names the line to change. Pure. */
import type { App } from '../../store/apps.ts'

export type CheckState = 'good' | 'warn' | 'bad' | 'unknown'

export type Check = {
  readonly name: string
  readonly state: CheckState
  readonly text: string
  /** What to change, and where. */
  readonly fix?: string
}

/** The relevant parts of the page's response. */
export type PageFacts = {
  readonly status: number
  readonly location: string | null
  readonly referrerPolicy: string | null
  readonly openerPolicy: string | null
  readonly contentPolicy: string | null
  /** The attributes of the widget's frames in the HTML; empty when a script creates the frame. */
  readonly frames: readonly Readonly<Record<string, string>>[]
}

export type Embedding = {
  /** The page that embeds the widget. */
  readonly url: URL
  /** A page that frames that one. */
  readonly outer: URL | undefined
  /** The parentOrigin that the backend sends when it creates a session. */
  readonly parentOrigin: string | undefined
  readonly app: App | undefined
  /** The active apps that list the page's origin. */
  readonly listing: readonly App[]
  /** No other app is active, so a page that names no app belongs to this one. */
  readonly isOnlyApp: boolean
  readonly page: PageFacts | { readonly problem: string }
  readonly publicUrl: string
  readonly isProduction: boolean
}

export function examineEmbedding(embedding: Embedding): Check[] {
  const { page } = embedding
  const facts = 'problem' in page ? undefined : page
  return [
    checkApp(embedding),
    checkParent(embedding),
    checkSecurity(embedding),
    checkParentOrigin(embedding),
    checkNesting(embedding),
    checkRead(embedding),
    ...(facts
      ? [checkSandbox(facts), checkReferrer(embedding, facts), checkOpener(facts), checkPolicy(embedding, facts)]
      : []),
  ]
}

function checkApp({ app, listing, url }: Embedding): Check {
  const name = 'Which app'
  if (!app)
    return listing.length === 0
      ? { name, state: 'bad', text: `No app lists ${url.origin} as a parent, so the page belongs to no app.` }
      : {
          name,
          state: 'warn',
          text: `${listing.length} apps list ${url.origin}: ${listing.map((each) => each.name).join(', ')}. The service cannot know to which one a page without a session belongs.`,
          fix: `Name it in the frame's address: /widget/wallet?clientId=${listing[0]!.clientId}`,
        }
  if (!app.isActive)
    return {
      name,
      state: 'bad',
      text: `${app.name} is not active: its widgets do not work.`,
      fix: 'Activate the app.',
    }
  return { name, state: 'good', text: `${app.name} (${app.clientId}) is active.` }
}

function checkParent({ app, url, isProduction }: Embedding): Check {
  const name = 'Listed as a parent'
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return {
      name,
      state: 'bad',
      text: `A page with ${url.protocol} has no origin to list. Serve it over https.`,
    }
  const parents = app?.allowedIframeParents ?? []
  if (parents.includes(url.origin))
    return { name, state: 'good', text: `${url.origin} is one of the allowed iframe parents.` }
  if (!app)
    return {
      name,
      state: 'bad',
      text: `${url.origin} is on no app's list.`,
      fix: `Add ${url.origin} to an app's allowed iframe parents.`,
    }
  const add = isProduction && url.protocol === 'http:' ? url.origin.replace('http:', 'https:') : url.origin
  const fix = `Add this line to the allowed iframe parents:\n${add}`
  return { name, state: 'bad', text: `${url.origin} is not on the list. ${nearMiss(url, parents)}`, fix }
}

/** Names the most likely mistake: most refused origins are almost right. */
function nearMiss(url: URL, parents: readonly string[]): string {
  const listed = parents.map((origin) => new URL(origin))
  const sameHost = listed.filter((other) => other.hostname === url.hostname)
  const scheme = sameHost.find((other) => other.protocol !== url.protocol && other.port === url.port)
  if (scheme) return `The list has ${scheme.origin}: the scheme differs, and http and https are two origins.`
  const port = sameHost.find((other) => other.protocol === url.protocol)
  if (port) return `The list has ${port.origin}: the port differs, and each port is a separate origin.`
  const related = listed.find(
    (other) => other.hostname.endsWith(`.${url.hostname}`) || url.hostname.endsWith(`.${other.hostname}`),
  )
  if (related) return `The list has ${related.origin}: a subdomain, www included, is another origin.`
  return parents.length === 0 ? 'The list is empty.' : `The list has ${parents.join(', ')}.`
}

function checkSecurity({ url, publicUrl, isProduction }: Embedding): Check {
  const name = 'HTTPS'
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol === 'https:' && publicUrl.startsWith('http:') && !isLocal)
    return {
      name,
      state: 'bad',
      text: `The page is https and this service is ${publicUrl}: browsers block http frames in https pages.`,
      fix: 'Serve Billfold over https and set PUBLIC_URL to that address.',
    }
  if (url.protocol === 'https:') return { name, state: 'good', text: 'The page is served over https.' }
  if (isProduction)
    return {
      name,
      state: 'bad',
      text: 'The page is plain http. In production only https pages may embed the widget.',
      fix: `Serve it as https://${url.host}`,
    }
  return { name, state: 'warn', text: 'The page is plain http. That works only in development.' }
}

function checkParentOrigin({ app, url, parentOrigin }: Embedding): Check {
  const name = 'parentOrigin'
  if (parentOrigin === undefined)
    return {
      name,
      state: 'unknown',
      text: 'Optional. If the backend sends it when it creates a session, it must be the origin of this page.',
      fix: `"parentOrigin": "${url.origin}"`,
    }
  if (parentOrigin !== url.origin)
    return {
      name,
      state: 'bad',
      text: `The backend sends ${parentOrigin}, but the page is ${url.origin}: no page can frame the session's widget.`,
      fix: `"parentOrigin": "${url.origin}"`,
    }
  const isListed = app?.allowedIframeParents.includes(parentOrigin) === true
  return isListed
    ? { name, state: 'good', text: 'It is this page’s origin, and on the list.' }
    : {
        name,
        state: 'bad',
        text: `${parentOrigin} is not on the list: creating a session answers 403 ORIGIN_NOT_ALLOWED.`,
      }
}

function checkNesting({ app, outer }: Embedding): Check {
  const name = 'Nested pages'
  if (!outer)
    return {
      name,
      state: 'unknown',
      text: 'If this page is itself in a frame, every page around it must be on the list too. Enter the address of the outermost page to check it.',
    }
  if (app?.allowedIframeParents.includes(outer.origin))
    return { name, state: 'good', text: `${outer.origin}, the page around it, is on the list.` }
  return {
    name,
    state: 'bad',
    text: `${outer.origin}, the page around it, is not on the list: browsers check every page above a frame.`,
    fix: `Add this line to the allowed iframe parents:\n${outer.origin}`,
  }
}

function checkRead({ page }: Embedding): Check {
  const name = 'The page itself'
  if ('problem' in page)
    return {
      name,
      state: 'unknown',
      text: `It could not be read from here: ${page.problem}. Its headers are not checked.`,
    }
  if (page.location)
    return { name, state: 'warn', text: `It redirects to ${page.location}: enter that address instead.` }
  if (page.status >= 400)
    return { name, state: 'warn', text: `It answered ${page.status}. After a sign-in its headers may differ.` }
  if (page.frames.length === 0)
    return {
      name,
      state: 'good',
      text: 'It was read. A script creates its frame, so the attributes of the frame are not visible here.',
    }
  return { name, state: 'good', text: 'It was read, and it contains a frame of the widget.' }
}

const permissions = [
  'allow-same-origin',
  'allow-scripts',
  'allow-forms',
  'allow-popups',
  'allow-popups-to-escape-sandbox',
]

function checkSandbox({ frames }: PageFacts): Check {
  const name = 'Sandbox'
  const sandboxed = frames.find((frame) => frame['sandbox'] !== undefined)
  const fix = `sandbox="${permissions.join(' ')}"`
  if (!sandboxed)
    return frames.length === 0
      ? {
          name,
          state: 'unknown',
          text: 'No frame is visible here. If it has a sandbox, the sandbox needs these permissions.',
          fix,
        }
      : { name, state: 'good', text: 'The frame is not sandboxed.' }
  const given = sandboxed['sandbox']!.toLowerCase().split(/\s+/)
  const missing = permissions.filter((permission) => !given.includes(permission))
  if (missing.length === 0)
    return { name, state: 'good', text: 'The frame’s sandbox has every permission the widget needs.' }
  return { name, state: 'bad', text: `The frame’s sandbox lacks ${missing.join(', ')}.`, fix }
}

/** The service finds the app of a frame without a session by clientId, else by the Referer. */
function checkReferrer({ app, listing, isOnlyApp }: Embedding, { referrerPolicy, frames }: PageFacts): Check {
  const name = 'Referer'
  const policies = [frames.find((frame) => frame['referrerpolicy'])?.['referrerpolicy'], referrerPolicy]
  const policy =
    policies
      .find((text) => text !== undefined && text !== null)
      ?.toLowerCase()
      .split(',')
      .at(-1)
      ?.trim() ?? ''
  const isNamed = frames.some((frame) => /[?&]clientId=/.test(frame['src'] ?? ''))
  if (isNamed) return { name, state: 'good', text: 'The frame names its app by clientId, so no Referer is needed.' }
  const isSilent = policy === 'no-referrer' || policy === 'same-origin'
  if (isSilent && isOnlyApp)
    return {
      name,
      state: 'good',
      text: `The page sends no Referer (${policy}). None is needed while there is one active app; add the clientId before there are two.`,
    }
  // A frame created by a script is not visible here and may name its app, as the SDK's does.
  const state = frames.length > 0 ? 'bad' : 'warn'
  const fix = `Name the app in the frame's address: /widget/wallet?clientId=${app?.clientId ?? 'app_…'}`
  if (isSilent)
    return {
      name,
      state,
      text: `The page sends no Referer (${policy}), so without a clientId the service does not know the app of a frame without a session, and refuses it.`,
      fix,
    }
  if (listing.length > 1)
    return {
      name,
      state,
      text: 'Several apps list this origin, so the Referer does not identify the app, and without a clientId a frame without a session is refused.',
      fix,
    }
  return { name, state: 'good', text: 'The page sends its origin, which identifies its app.' }
}

function checkOpener({ openerPolicy }: PageFacts): Check {
  const name = 'Cross-Origin-Opener-Policy'
  if (openerPolicy?.trim().toLowerCase().startsWith('same-origin') && !/allow-popups/i.test(openerPolicy))
    return {
      name,
      state: 'warn',
      text: 'With same-origin the top-up window loses its opener and cannot notify the page when it is done. The wallet still updates.',
      fix: 'Cross-Origin-Opener-Policy: same-origin-allow-popups',
    }
  return {
    name,
    state: 'good',
    text: openerPolicy
      ? `With ${openerPolicy} the top-up window keeps its opener.`
      : 'Not set, so the top-up window keeps its opener.',
  }
}

function checkPolicy({ publicUrl }: Embedding, { contentPolicy }: PageFacts): Check {
  const name = 'Content-Security-Policy'
  const directives = new Map(
    (contentPolicy ?? '').split(';').map((directive) => {
      const [key = '', ...sources] = directive.trim().split(/\s+/)
      return [key.toLowerCase(), sources] as const
    }),
  )
  const sources = directives.get('frame-src') ?? directives.get('child-src') ?? directives.get('default-src')
  if (!sources)
    return {
      name,
      state: 'good',
      text: contentPolicy ? 'The policy of the page does not limit frames.' : 'The page has none.',
    }
  const { origin, protocol, hostname } = new URL(publicUrl)
  const isAllowed = sources.some((source) => {
    if (source === '*' || source === protocol || source === origin) return true
    const host = source.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')
    return host === new URL(publicUrl).host || (host.startsWith('*.') && hostname.endsWith(host.slice(1)))
  })
  if (isAllowed) return { name, state: 'good', text: `The policy of the page allows frames of ${origin}.` }
  return {
    name,
    state: 'bad',
    text: `The policy of the page does not allow frames of ${origin}.`,
    fix: `frame-src ${origin}`,
  }
}
