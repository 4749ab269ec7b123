/** The settings of a deployment: what is convenient in development, and what is likely to be a mistake. Pure. */
import type { Config } from '../../config.ts'
import type { Check } from '../apps/examine-embedding.ts'

export function examineSettings(config: Config, misspelt: readonly { name: string; meant: string }[]): Check[] {
  return [checkMode(config), checkNames(misspelt), checkMailFrom(config)]
}

function checkMode({ isProduction }: Config): Check {
  const name = 'Mode'
  if (isProduction) return { name, state: 'good', text: 'NODE_ENV is production, and no setting speaks against it.' }
  const text = 'This is development: demo data, plain HTTP, play money and mails without a mail server are let through.'
  return { name, state: 'warn', text, fix: 'NODE_ENV=production, and what it then asks for.' }
}

function checkNames(misspelt: readonly { name: string; meant: string }[]): Check {
  const name = 'Names of variables'
  if (misspelt.length === 0) return { name, state: 'good', text: 'Every variable that looks like a setting is one.' }
  const text = `${misspelt.map((found) => found.name).join(', ')}: not known, and left out.`
  return { name, state: 'warn', text, fix: misspelt.map((found) => `Write ${found.meant}.`).join('\n') }
}

function checkMailFrom({ mail, isProduction }: Config): Check {
  const name = 'MAIL_FROM'
  if (!/@localhost>?$/.test(mail.from)) return { name, state: 'good', text: `Mails come from ${mail.from}.` }
  const text = `Mails come from ${mail.from}, which no mail server of the outside believes.`
  const fix = 'MAIL_FROM="Your service" <wallet@your.domain>, of a domain whose SPF and DKIM name your mail server.'
  return { name, state: isProduction ? 'bad' : 'warn', text, fix }
}
