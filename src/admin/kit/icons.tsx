/** Inline line icons. Decoration only: a text beside each says the same. */

const paths = {
  overview: 'M3 13h4l3-8 4 14 3-8h4',
  apps: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  wallets: 'M4 7.5A2.5 2.5 0 0 1 6.5 5H17v3M4 7.5V17a2 2 0 0 0 2 2h13a1 1 0 0 0 1-1V9a1 1 0 0 0-1-1H6M16 13.5h.01',
  topups: 'M3 6h18v12H3zM3 10h18M7 15h3',
  holds: 'M6 4h12M6 20h12M7 4v4l5 4-5 4v4M17 4v4l-5 4 5 4v4',
  corrections: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4M14 20h6',
  settlements: 'M4 9h16M4 9l8-5 8 5M6 9v8M10 9v8M14 9v8M18 9v8M4 20h16M4 17h16',
  notes: 'M5 4h14v11l-5 5H5zM14 20v-5h5M8.5 8.5h7M8.5 12h4',
  deletions: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  references: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.7-4.7',
  books: 'M5 20V10M10 20V4M15 20v-7M20 20V8',
  reconciliation: 'M4 8h13M13 4l4 4-4 4M20 16H7M11 12l-4 4 4 4',
  work: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5.5l3.5 2',
  audit: 'M6 3h9l4 4v14H6zM9.5 11h6M9.5 15h6M14 3v5h5',
  doctor: 'M5 4v5a4.5 4.5 0 0 0 9 0V4M9.5 13.5V16a4.5 4.5 0 0 0 9 0v-2.5M18.5 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  operators:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.3 2.7-6 6-6s6 2.7 6 6M16 4.5a3.5 3.5 0 0 1 0 6.5M17.5 14.5c2 .8 3.5 3 3.5 5.5',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.6-3.7 3.7-6 7.5-6s6.9 2.3 7.5 6',
  out: 'M14 4H6v16h8M10 12h11M17.5 8.5 21 12l-3.5 3.5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5 10 17 19 7',
  cross: 'M6 6l12 12M18 6 6 18',
  warn: 'M12 8v5M12 16.5h.01M12 3 2.5 20h19z',
  dash: 'M6 12h12',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.75"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}

/** The logo: a folded note. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
      <rect class="mark-ground" x="1" y="1" width="30" height="30" rx="9" />
      <path
        class="mark-line"
        d="M8 12.5c0-1.4 1.1-2.5 2.5-2.5H22v3M8 12.5V21c0 .8.7 1.5 1.5 1.5h13c.8 0 1.5-.7 1.5-1.5v-6c0-.8-.7-1.5-1.5-1.5H9.5"
      />
      <circle class="mark-dot" cx="19.5" cy="18" r="1.4" />
    </svg>
  )
}
