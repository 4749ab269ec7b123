/** Placeholder shapes until the wallet is loaded, in the same elements, so that nothing moves when it appears. */
import { usePage } from './page-context.tsx'
import { TopBar } from './parts.tsx'

export function Skeleton() {
  const { words } = usePage()
  return (
    <>
      <TopBar>
        <span class="avatar" aria-hidden="true" />
      </TopBar>
      <p class="visually-hidden" role="status">
        {words.loading}
      </p>
      <div class="columns" aria-hidden="true">
        <div class="hero-side">
          <div class="hero">
            <p class="hero-hello">
              <span class="bone">{words.hello}</span>
            </p>
            <p class="hero-label">
              <span class="bone">{words.balance}</span>
            </p>
            <div class="hero-figure">
              <p class="hero-balance">
                <span class="bone">000.00</span>
              </p>
            </div>
            <span class="button hero-action">
              <span class="bone">{words.addMoney}</span>
            </span>
          </div>
        </div>
        <div class="activity card">
          <h2>
            <span class="skeleton">{words.activity}</span>
          </h2>
          <div class="day">
            <h3>
              <span class="skeleton">{words.moneyIn}</span>
            </h3>
            <BoneEntries rows={[0, 1, 2, 3, 4]} />
          </div>
        </div>
      </div>
      {/* The stylesheet shows this after a delay: a blocked script could not. */}
      <p class="stalled notice info">{words.stalled}</p>
    </>
  )
}

export function BoneEntries({ rows }: { rows: readonly unknown[] }) {
  const { words } = usePage()
  return rows.map(() => (
    <div class="entry waiting" aria-hidden="true">
      <div class="entry-open">
        <span class="skeleton mark" />
        <span class="entry-text">
          <span class="entry-title">
            <span class="skeleton">{words.topupEntry}</span>
          </span>
          <span class="entry-when">
            <span class="skeleton">{words.moneyIn}</span>
          </span>
        </span>
      </div>
    </div>
  ))
}
