/**
 * The template of every mail. The text part and the HTML part have the same content, because both are made from one letter.
 *
 * The layout uses tables because Outlook supports neither max-width nor margins of a div. Colours are inline, and a class
 * overrides them in a dark theme. Scripts, fonts and remote pictures are left out: the logo is attached, so opening a mail
 * sends no request.
 */
import type { About } from '../../config.ts'
import type { Language } from '../../languages/languages.ts'

export type Letter = {
  readonly subject: string
  readonly title: string
  /** Six digits to copy. */
  readonly code?: string
  readonly lines: readonly string[]
  /** The rows of a table: what happened, with a label each. */
  readonly details?: readonly (readonly [name: string, value: string])[]
  /** A link that gives access; its address is never logged. */
  readonly link?: { readonly text: string; readonly url: string }
  /** What the reader can do. */
  readonly after?: readonly string[]
  /** The first detail is highlighted as a warning: money is missing, or another person may have access. */
  readonly isUrgent?: boolean
  readonly why: string
  /** The unsubscribe address, for mails a user can unsubscribe from. */
  readonly stopUrl?: string | undefined
}

export type WrittenMail = { readonly subject: string; readonly text: string; readonly html: string }

/** The `cid:` of the attached logo. */
export const logoId = 'logo'

export function writeMail(
  letter: Letter,
  { language, about, hasLogo }: { language: Language; about: About; hasLogo: boolean },
): WrittenMail {
  const footer = footerOf(letter, language, about)
  return {
    subject: letter.subject,
    text: textOf(letter, footer, about),
    html: htmlOf(letter, footer, { language, about, hasLogo }),
  }
}

type Footer = { readonly why: string; readonly links: readonly (readonly [name: string, address: string])[] }

function footerOf({ why, stopUrl }: Letter, { mail: words }: Language, about: About): Footer {
  const help = about.supportUrl ?? (about.supportEmail && `mailto:${about.supportEmail}`)
  const links = [
    [words.help, help],
    [words.terms, about.termsUrl],
    [words.privacy, about.privacyUrl],
    [words.stop, stopUrl],
  ] as const
  return { why, links: links.flatMap(([name, address]) => (address ? [[name, address] as const] : [])) }
}

function textOf(
  { title, code, lines, details = [], link, after = [] }: Letter,
  { why, links }: Footer,
  about: About,
): string {
  const parts = [
    about.name,
    title,
    ...(code ? [code] : []),
    ...lines,
    details.map(([name, value]) => `${name}: ${value}`).join('\n'),
    ...(link ? [`${link.text}:\n${link.url}`] : []),
    ...after,
    '-- ',
    [why, ...links.map(([name, address]) => `${name}: ${address.replace(/^mailto:/, '')}`)].join('\n'),
  ]
  return parts
    .filter((part) => part !== '')
    .join('\n\n')
    .replace('-- \n\n', '-- \n')
}

const font = `-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Noto Sans','Helvetica Neue',Arial,sans-serif`
const mono = `ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace`

/** The light and the dark colour, as in style.css. */
export const colors = {
  ground: ['background-color', '#f6f6f2', '#0f1211'],
  card: ['background-color', '#ffffff', '#181c1a'],
  soft: ['background-color', '#e8f1ed', '#1a2a24'],
  alert: ['background-color', '#fdf2df', '#2d2413'],
  ink: ['color', '#171b19', '#f0f3f1'],
  muted: ['color', '#5a625d', '#a3ada7'],
  accent: ['color', '#0e5a47', '#7adcb9'],
  warn: ['color', '#8a4b08', '#f3c06b'],
  edge: ['border-color', '#e4e4dd', '#2a302d'],
} as const satisfies Record<string, readonly [property: string, light: string, dark: string]>

type Color = keyof typeof colors

/** The light theme is inline; the dark one is by class, which must override the inline style. */
function paint(names: readonly Color[], style: string): string {
  const inline = names.map((name) => `${colors[name][0]}:${colors[name][1]}`).join(';')
  return `class="${names.join(' ')}" style="${inline};${style}"`
}

const dark = Object.entries(colors)
  .map(([name, [property, , color]]) => `.${name}{${property}:${color} !important}`)
  .join('')
const sheet = `:root{color-scheme:light dark;supported-color-schemes:light dark}@media (prefers-color-scheme:dark){${dark}}@media (max-width:480px){.card{padding:24px 20px !important}.code{font-size:28px !important;letter-spacing:5px !important}}`

type Options = { readonly language: Language; readonly about: About; readonly hasLogo: boolean }

function htmlOf(letter: Letter, footer: Footer, { language: { code, dir }, about, hasLogo }: Options): string {
  const align = dir === 'rtl' ? 'right' : 'left'
  const whole = 'role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"'
  const logo = hasLogo
    ? `<img src="cid:${logoId}" width="32" height="32" alt="" style="border-radius:8px;vertical-align:middle;border:0"> &nbsp;`
    : ''
  return `<!doctype html>
<html lang="${code}" dir="${dir}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><meta name="x-apple-disable-message-reformatting"><meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no"><title>${escape(letter.subject)}</title><style>${sheet}</style></head>
<body dir="${dir}" ${paint(['ground'], 'margin:0;padding:0')}>
<div style="display:none;max-height:0;max-width:0;overflow:hidden;font-size:1px;line-height:1px;opacity:0">${escape(previewOf(letter))}${'&#847;&zwnj;&nbsp;'.repeat(30)}</div>
<table ${whole} ${paint(['ground'], `font-family:${font};text-align:${align}`)}><tr><td align="center" style="padding:32px 12px">
<!--[if mso]><table role="presentation" width="560" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table ${whole} style="max-width:560px"><tr><td ${paint(['ink'], `padding:0 8px 20px;font-size:17px;line-height:32px;font-weight:600;text-align:${align}`)}>${logo}${escape(about.name)}</td></tr>
<tr><td ${paint(['card', 'ink', 'edge'], `padding:32px;border-width:1px;border-style:solid;border-radius:16px;font-size:16px;line-height:1.5;text-align:${align}`)}>
${bodyOf(letter, align)}
</td></tr>
<tr><td ${paint(['muted'], `padding:20px 8px 0;font-size:13px;line-height:1.5;text-align:${align}`)}>${escape(footer.why)}${linksOf(footer)}</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body></html>
`
}

function bodyOf(
  { title, code, lines, details = [], link, after = [], isUrgent = false }: Letter,
  align: string,
): string {
  const line = (text: string) => `<p style="margin:${space};overflow-wrap:anywhere">${escape(text)}</p>`
  const blocks = [
    `<h1 style="margin:${space};font-size:22px;line-height:1.3;font-weight:650;overflow-wrap:anywhere">${escape(title)}</h1>`,
    ...(code ? [codeBox(code)] : []),
    ...lines.map(line),
    ...(details.length > 0 ? [detailTable(details, align, isUrgent)] : []),
    ...(link ? [linkButton(link)] : []),
    ...after.map(line),
  ]
  const last = blocks.length - 1
  return blocks.map((block, i) => (i === last ? block.replace(`margin:${space}`, 'margin:0') : block)).join('\n')
}

/** The space below each block except the last. */
const space = '0 0 16px'

/** Digits are left to right in every language. */
function codeBox(code: string): string {
  const style = `margin:${space};padding:16px 8px;border-radius:12px;font-family:${mono};font-size:34px;line-height:1.2;font-weight:600;letter-spacing:8px;text-align:center`
  return `<div dir="ltr" ${paint(['soft', 'accent'], style).replace('class="', 'class="code ')}>${escape(code)}</div>`
}

function linkButton({ text, url }: NonNullable<Letter['link']>): string {
  const style = 'display:inline-block;padding:12px 20px;border-radius:12px;font-weight:600;text-decoration:underline'
  return `<p style="margin:${space}"><a href="${escape(url)}" ${paint(['soft', 'accent'], style)}>${escape(text)}</a></p>`
}

function detailTable(details: NonNullable<Letter['details']>, align: string, isUrgent: boolean): string {
  const other = align === 'left' ? 'right' : 'left'
  const rows = details.map(([name, value], i) => {
    const rule = i === 0 ? '' : 'border-top-width:1px;border-top-style:solid;'
    // The value may be the name of an app: isolated, its direction does not reorder the row.
    const cell = (names: Color[], tag: string, style: string, text: string) =>
      `<${tag} ${paint([...names, 'edge'], `${rule}padding:10px 14px;font-size:15px;line-height:1.4;vertical-align:top;${style}`)}><bdi>${escape(text)}</bdi></${tag.split(' ')[0]}>`
    const isMain = i === 0
    const main: Color = isUrgent ? 'warn' : 'accent'
    return `<tr>${cell(['muted'], 'th scope="row"', `width:1%;text-align:${align};font-weight:400;white-space:nowrap`, name)}${cell(
      [isMain ? main : 'ink'],
      'td',
      `text-align:${other};overflow-wrap:anywhere;word-break:break-word;font-weight:${isMain ? 650 : 500}`,
      value,
    )}</tr>`
  })
  return `<table width="100%" cellpadding="0" cellspacing="0" border="0" ${paint([isUrgent ? 'alert' : 'soft'], `margin:${space};border-radius:12px;border-collapse:separate`)}>${rows.join('')}</table>`
}

function linksOf({ links }: Footer): string {
  const all = links.map(
    ([name, address]) =>
      `<a href="${escape(address)}" ${paint(['muted'], 'text-decoration:underline')}>${escape(name)}</a>`,
  )
  return all.length === 0 ? '' : `<br>${all.join(' &nbsp;·&nbsp; ')}`
}

/** The preview in a list of mails. Not the code: it is in the subject, and would be on a locked screen twice. */
function previewOf({ lines }: Letter): string {
  return lines.at(-1) ?? ''
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
