/** The filters of the list: text, direction and app. */
import { fill } from '../../../languages/words.ts'
import type { WalletApp } from '../call.ts'
import { usePage } from '../page-context.tsx'
import { formatMoney } from '../format.ts'
import type { ActivityFilter } from './entry-pages.ts'
import { toDecimal, toMinor, type Meaning, type ParsedSearch } from './parse-search.ts'

type FiltersProps = {
  filter: ActivityFilter
  parsed: ParsedSearch
  apps: readonly WalletApp[]
  onChange: (filter: ActivityFilter) => void
}

export function Filters({ filter, parsed, apps, onChange }: FiltersProps) {
  const { say } = usePage<'activity'>()
  const directions = [
    ['', say('filterAll')],
    ['in', say('filterIn')],
    ['out', say('filterOut')],
  ] as const
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>{say('search')}</span>
        <input
          type="search"
          name="search"
          maxLength={100}
          placeholder={say('searchHint')}
          autocomplete="off"
          value={filter.search}
          onInput={({ currentTarget }) => onChange({ ...filter, search: currentTarget.value })}
        />
      </label>
      {parsed.meanings.length > 0 && (
        <ul role="list" class="meanings">
          {parsed.meanings.map((meaning) => (
            <li key={meaning.kind + meaning.typed}>
              <span class="badge">
                <MeaningText meaning={meaning} />
              </span>
              <button
                type="button"
                class="link-button"
                onClick={() =>
                  onChange({ ...filter, search: filter.search.replace(meaning.typed, `"${meaning.typed}"`) })
                }
              >
                {say('asText', { word: meaning.typed })}
              </button>
            </li>
          ))}
        </ul>
      )}
      <fieldset class="choices">
        <legend class="visually-hidden">{say('filterDirection')}</legend>
        {directions.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="direction"
              value={value}
              checked={filter.direction === value}
              onChange={() => onChange({ ...filter, direction: value })}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span class="visually-hidden">{say('filterApp')}</span>
        <select
          name="app"
          value={filter.app}
          onChange={({ currentTarget }) => onChange({ ...filter, app: currentTarget.value })}
        >
          <option value="">{say('anyApp')}</option>
          {apps.map(({ clientId, name }) => (
            <option key={clientId} value={clientId}>
              {name}
            </option>
          ))}
          <option value="service">{say('ownEntries')}</option>
        </select>
      </label>
    </form>
  )
}

/** A month, or a bound of the amount, as the search was understood. */
function MeaningText({ meaning }: { meaning: Meaning }) {
  const { lang, words, topup } = usePage<'activity'>()
  if (meaning.kind === 'time') return <>{meaning.label}</>
  const { decimals, currency } = topup
  const amount = formatMoney(toDecimal(toMinor(meaning.amount, decimals), decimals), currency, lang)
  if (meaning.bound === 'equal') return <span class="money">{amount}</span>
  return <>{fill(words[meaning.bound].split(/[,،、]/)[0]!, { amount }, lang)}</>
}
