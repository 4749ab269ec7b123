/** Checks the settings of a deployment for development defaults and likely mistakes. Pure. */
import type { Config } from '../../config.ts'
import type { Check } from '../apps/examine-embedding.ts'

export function examineSettings(config: Config, misspelt: readonly { name: string; meant: string }[]): Check[] {
  return [checkMode(config), checkNames(misspelt), checkMailFrom(config)]
}

function checkMode({ isProduction }: Config): Check {
  const name = 'Mode'
  if (isProduction) return { name, state: 'good', text: 'NODE_ENV is production, and all settings fit it.' }
  const text = 'This is development: demo data, plain HTTP, play money and mails without a mail server are allowed.'
  return { name, state: 'warn', text, fix: 'Set NODE_ENV=production, and the settings it then requires.' }
}

function checkNames(misspelt: readonly { name: string; meant: string }[]): Check {
  const name = 'Names of variables'
  if (misspelt.length === 0) return { name, state: 'good', text: 'Every variable that resembles a setting is one.' }
  const text = `${misspelt.map((found) => found.name).join(', ')}: unknown, and ignored.`
  return { name, state: 'warn', text, fix: misspelt.map((found) => `Write ${found.meant}.`).join('\n') }
}

function checkMailFrom({ mail, isProduction }: Config): Check {
  const name = 'MAIL_FROM'
  if (!/@localhost>?$/.test(mail.from)) return { name, state: 'good', text: `Mails come from ${mail.from}.` }
  const text = `Mails come from ${mail.from}, which other mail servers will refuse.`
  const fix = 'MAIL_FROM="Your service" <wallet@your.domain>, of a domain whose SPF and DKIM name your mail server.'
  return { name, state: isProduction ? 'bad' : 'warn', text, fix }
}
