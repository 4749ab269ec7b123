/** The filters of the list: text, direction and app. */
import type { WalletApp } from '../call.ts'
import { usePage } from '../page-context.tsx'
import type { ActivityFilter } from './entry-pages.ts'

type FiltersProps = {
  filter: ActivityFilter
  apps: readonly WalletApp[]
  onChange: (filter: ActivityFilter) => void
}

export function Filters({ filter, apps, onChange }: FiltersProps) {
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
