/** Grey shapes in place of the wallet until it is loaded, of the same size, so that nothing moves when it comes. */
import { usePage } from './page-context.tsx'
import { TopBar } from './parts.tsx'

export function Skeleton() {
  const { words } = usePage()
  return (
    <>
      <TopBar />
      <p class="visually-hidden" role="status">
        {words.loading}
      </p>
      <div class="columns" aria-hidden="true">
        <div class="hero skeleton-hero">
          <span class="bone" />
          <span class="bone wide" />
          <span class="bone pill" />
        </div>
        <div class="activity card">
          <span class="skeleton line short" />
          {[0, 1, 2, 3, 4].map((row) => (
            <div class="entry" key={row}>
              <span class="skeleton entry-icon" />
              <span class="entry-text">
                <span class="skeleton line" />
                <span class="skeleton line short" />
              </span>
            </div>
          ))}
        </div>
      </div>
      {/* Shown by the stylesheet after a while: a script that is blocked cannot show anything. */}
      <p class="stalled notice info">{words.stalled}</p>
    </>
  )
}
