/** Money is `bigint` minor units inside the service. Requests and responses carry JSON numbers in major units. */

export type Currency = { readonly code: string; readonly decimals: number }

/** ISO 4217: every currency has two decimals, except these. */
const decimalsOf: Record<string, number> = {
  ...Object.fromEntries(
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3])),
}

/** The currencies of ISO 4217 that people pay with. */
const codes =
  'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP ' +
  'CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD ' +
  'IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR ' +
  'MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP ' +
  'SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG ' +
  'XOF XPF YER ZAR ZMW ZWG'
const known = new Set(codes.split(' '))

export function isKnownCurrency(code: string): boolean {
  return known.has(code)
}

export function parseCurrency(code: string): Currency | undefined {
  if (!/^[A-Z]{3}$/.test(code)) return undefined
  return { code, decimals: decimalsOf[code] ?? 2 }
}

/**
 * A balance has at most 15 digits, so that every balance is a different JSON number. 2^53 minor units would be too many:
 * 90071992547409.90 and 90071992547409.91 are the same double.
 */
export const maxBalanceMinor = 10n ** 15n - 1n

/** One operation moves at most 999,999,999.99 in major units, cut to the currency's decimals. */
export function maxOperationMinor({ decimals }: Currency): bigint {
  return maxOperations[decimals]!
}

const maxOperations = [999_999_999n, 9_999_999_999n, 99_999_999_999n, 999_999_999_990n]

/** Plain decimal text to minor units; undefined unless it is exactly an amount of this currency. */
export function parseDecimal(text: string, currency: Currency): bigint | undefined {
  const match = /^(0|[1-9]\d{0,15})(?:\.(\d{1,20}))?$/.exec(text)
  if (!match) return undefined
  const [, whole = '', fraction = ''] = match
  const { decimals } = currency
  if (!/^0*$/.test(fraction.slice(decimals))) return undefined
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
}

/**
 * A JSON number to minor units, never rounded: 19.99 is 1999n, and 0.1 + 0.2 is refused. The check is exact: an amount has at
 * most 12 digits, so only the nearest whole number of minor units can match, and dividing that gives the same double that
 * its decimal text parses to.
 */
export function parseAmount(value: unknown, currency: Currency): bigint | undefined {
  if (typeof value !== 'number' || !(value > 0)) return undefined
  const scale = 10 ** currency.decimals
  const minor = Math.round(value * scale)
  if (minor / scale !== value || minor > maxOperationMinor(currency)) return undefined
  return BigInt(minor)
}

/** Minor units to exact decimal text: 1999n is "19.99". */
export function formatMinor(minor: bigint, currency: Currency): string {
  if (currency.decimals === 0) return String(minor)
  const sign = minor < 0n ? '-' : ''
  const digits = String(minor < 0n ? -minor : minor).padStart(currency.decimals + 1, '0')
  return `${sign}${digits.slice(0, -currency.decimals)}.${digits.slice(-currency.decimals)}`
}

/** Minor units as a page shows them: 1999n is "$19.99". Exact: it formats the decimal text, not a double. */
export function moneyText(minor: bigint, currency: Currency): string {
  const { code, decimals } = currency
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: code, minimumFractionDigits: decimals })
  return format.format(formatMinor(minor, currency) as `${number}`)
}

/** Minor units to the JSON number of the contract. The number's text is exact because it has at most 15 digits. */
export function majorNumber(minor: bigint, currency: Currency): number {
  return Number(minor) / 10 ** currency.decimals
}
