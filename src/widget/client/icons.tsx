/** Line icons, 24 by 24. All are decorative: the text beside them has the same meaning. */
const paths = {
  plus: 'M12 5v14M5 12h14',
  in: 'M12 4v14m0 0-6-6m6 6 6-6',
  out: 'M12 20V6m0 0-6 6m6-6 6 6',
  lock: 'M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z',
  clock: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  alert: 'M12 8v5m0 3v.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  cloud: 'M4 4l16 16M9 6.5A6 6 0 0 1 18 11a4 4 0 0 1 2.6 6.6M17 19H7a5 5 0 0 1-.6-9.96',
  door: 'M14 4h5v16h-5M4 12h11m0 0-4-4m4 4-4 4',
  check: 'M5 12.5 10 17l9-10',
  shield: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z',
  card: 'M3 6h18v12H3zM3 10h18M7 15h3',
  receipt: 'M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6',
  back: 'M19 12H5m0 0 6-6m-6 6 6 6',
  swap: 'M7 4 3 8l4 4M3 8h14M17 12l4 4-4 4M21 16H7',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c0-8 16-8 16 0',
  window: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
}

/** Only the account shows them, so its script has them. */
type AccountIconName = 'mail' | 'bell' | 'globe' | 'device'
export type IconName = keyof typeof paths | AccountIconName

const known: Partial<Record<IconName, string>> = paths

export function addIcons(more: Readonly<Record<AccountIconName, string>>): void {
  Object.assign(known, more)
}

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={known[name]} />
    </svg>
  )
}
