/** Would this page be able to embed the widget? Check by check, with the line to change. Pure: what was read is given. */
import type { App } from '../../store/apps.ts'

export type CheckState = 'good' | 'warn' | 'bad' | 'unknown'

export type Check = {
  readonly name: string
  readonly state: CheckState
  readonly text: string
  /** What to write, and where. */
  readonly fix?: string
}

/** What the page said when it was asked for, as far as it matters here. */
export type PageFacts = {
  readonly status: number
  readonly location: string | null
  readonly referrerPolicy: string | null
  readonly openerPolicy: string | null
  readonly contentPolicy: string | null
  /** The attributes of its frames that show the widget, if any are in the page as it is served. */
  readonly frames: readonly Readonly<Record<string, string>>[]
}

export type Embedding = {
  /** Of the page that embeds the widget. */
  readonly url: URL
  /** Of a page around that one, if there is one. */
  readonly outer: URL | undefined
  /** What the backend sends when it makes a session. */
  readonly parentOrigin: string | undefined
  readonly app: App | undefined
  /** Active apps that list the page's origin. */
  readonly listing: readonly App[]
  /** Whether no other app is active: a page that names none can then only mean this one. */
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
      ? { name, state: 'bad', text: `No app lists ${url.origin} as a parent, so the page belongs to none.` }
      : {
          name,
          state: 'warn',
          text: `${listing.length} apps list ${url.origin}: ${listing.map((each) => each.name).join(', ')}. The service cannot tell which one a page without a session belongs to.`,
          fix: `Name it in the frame's address: /widget/wallet?clientId=${listing[0]!.clientId}`,
        }
  if (!app.isActive)
    return {
      name,
      state: 'bad',
      text: `${app.name} is not active: its widgets answer nothing.`,
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
      text: `A page with ${url.protocol} has no origin that could be listed. Serve it over https.`,
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

/** Most who are refused are nearly right. */
function nearMiss(url: URL, parents: readonly string[]): string {
  const listed = parents.map((origin) => new URL(origin))
  const sameHost = listed.filter((other) => other.hostname === url.hostname)
  const scheme = sameHost.find((other) => other.protocol !== url.protocol && other.port === url.port)
  if (scheme) return `The list has ${scheme.origin}: the scheme differs, and http and https are two origins.`
  const port = sameHost.find((other) => other.protocol === url.protocol)
  if (port) return `The list has ${port.origin}: the port differs, and each port is an origin of its own.`
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
  return { name, state: 'warn', text: 'The page is plain http. That works in development alone.' }
}

function checkParentOrigin({ app, url, parentOrigin }: Embedding): Check {
  const name = 'parentOrigin'
  if (parentOrigin === undefined)
    return {
      name,
      state: 'unknown',
      text: 'Optional. If the backend sends it when it makes a session, it must be this page’s origin.',
      fix: `"parentOrigin": "${url.origin}"`,
    }
  if (parentOrigin !== url.origin)
    return {
      name,
      state: 'bad',
      text: `The backend sends ${parentOrigin}, but the page is ${url.origin}: the session's widget is framed by nobody.`,
      fix: `"parentOrigin": "${url.origin}"`,
    }
  const isListed = app?.allowedIframeParents.includes(parentOrigin) === true
  return isListed
    ? { name, state: 'good', text: 'It is this page’s origin, and on the list.' }
    : {
        name,
        state: 'bad',
        text: `${parentOrigin} is not on the list: making a session answers 403 ORIGIN_NOT_ALLOWED.`,
      }
}

function checkNesting({ app, outer }: Embedding): Check {
  const name = 'Nested pages'
  if (!outer)
    return {
      name,
      state: 'unknown',
      text: 'If this page is itself in a frame, every page around it must be on the list too. Give the address of the outermost one too, and it is checked.',
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
      text: `It could not be read from here: ${page.problem}. What follows from its headers is not checked.`,
    }
  if (page.location)
    return { name, state: 'warn', text: `It redirects to ${page.location}: enter that address instead.` }
  if (page.status >= 400)
    return { name, state: 'warn', text: `It answered ${page.status}. Behind a sign-in its headers may differ.` }
  if (page.frames.length === 0)
    return {
      name,
      state: 'good',
      text: 'It was read. Its frame is made by a script, so the frame’s attributes are not visible here.',
    }
  return { name, state: 'good', text: 'It was read, and it holds a frame of the widget.' }
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
          text: 'No frame to look at. A sandbox, if there is one, needs these permissions.',
          fix,
        }
      : { name, state: 'good', text: 'The frame is not sandboxed.' }
  const given = sandboxed['sandbox']!.toLowerCase().split(/\s+/)
  const missing = permissions.filter((permission) => !given.includes(permission))
  if (missing.length === 0)
    return { name, state: 'good', text: 'The frame’s sandbox has every permission the widget needs.' }
  return { name, state: 'bad', text: `The frame’s sandbox lacks ${missing.join(', ')}.`, fix }
}

/** How the service learns which app a frame without a session belongs to: by clientId, else by the Referer. */
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
      text: `The page sends no Referer (${policy}). None is needed while there is one active app; name it by clientId before there are two.`,
    }
  // A frame that a script makes is not seen here, and may well name its app: the SDK's does.
  const state = frames.length > 0 ? 'bad' : 'warn'
  const fix = `Name the app in the frame's address: /widget/wallet?clientId=${app?.clientId ?? 'app_…'}`
  if (isSilent)
    return {
      name,
      state,
      text: `The page sends no Referer (${policy}), so without a clientId the service cannot tell which app a frame without a session belongs to, and refuses it.`,
      fix,
    }
  if (listing.length > 1)
    return {
      name,
      state,
      text: 'Several apps list this origin, so the Referer does not tell them apart, and without a clientId a frame without a session is refused.',
      fix,
    }
  return { name, state: 'good', text: 'The page sends its origin, which names its app.' }
}

function checkOpener({ openerPolicy }: PageFacts): Check {
  const name = 'Cross-Origin-Opener-Policy'
  if (openerPolicy?.trim().toLowerCase().startsWith('same-origin') && !/allow-popups/i.test(openerPolicy))
    return {
      name,
      state: 'warn',
      text: 'With same-origin the top-up window loses its opener and cannot tell the page that it is done. The wallet still updates by itself.',
      fix: 'Cross-Origin-Opener-Policy: same-origin-allow-popups',
    }
  return {
    name,
    state: 'good',
    text: openerPolicy
      ? `${openerPolicy} leaves the top-up window its opener.`
      : 'Not set, which leaves the top-up window its opener.',
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
      text: contentPolicy ? 'The page’s policy does not limit frames.' : 'The page has none.',
    }
  const { origin, protocol, hostname } = new URL(publicUrl)
  const isAllowed = sources.some((source) => {
    if (source === '*' || source === protocol || source === origin) return true
    const host = source.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')
    return host === new URL(publicUrl).host || (host.startsWith('*.') && hostname.endsWith(host.slice(1)))
  })
  if (isAllowed) return { name, state: 'good', text: `The page’s policy allows frames of ${origin}.` }
  return {
    name,
    state: 'bad',
    text: `The page’s own policy does not allow frames of ${origin}.`,
    fix: `frame-src ${origin}`,
  }
}
