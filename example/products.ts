/** The products of the shop. Prices are whole numbers, so that they are valid in every currency. */

export type Product = {
  readonly id: string
  readonly name: string
  readonly line: string
  readonly price: number
  /** It ships later: its money is reserved first, and taken then. */
  readonly isPreOrder?: boolean
  /** The content of an `<svg viewBox="0 0 240 180">`. Colours come from CSS classes, so that dark mode applies. */
  readonly drawing: string
}

export const products: readonly Product[] = [
  {
    id: 'candle',
    name: 'Beeswax candle',
    line: 'Forty hours of warm light.',
    price: 12,
    drawing: `
      <circle class="glow" cx="120" cy="58" r="46"/>
      <path class="flame" d="M120 30c14 18 17 26 17 34a17 17 0 0 1-34 0c0-8 3-16 17-34z"/>
      <path class="spark" d="M120 50c6 8 8 12 8 16a8 8 0 0 1-16 0c0-4 2-8 8-16z"/>
      <path class="dark" d="M118.5 76h3v12h-3z"/>
      <rect class="wax" x="92" y="86" width="56" height="62" rx="8"/>
      <path class="wax-deep" d="M92 96c8 6 14-2 20 4s4 20 10 20 4-18 10-22 10 4 16-2v-2a8 8 0 0 0-8-8h-40a8 8 0 0 0-8 8z"/>
      <rect class="wood" x="76" y="146" width="88" height="12" rx="6"/>`,
  },
  {
    id: 'mug',
    name: 'Stoneware mug',
    line: 'Holds tea, and thoughts.',
    price: 18,
    drawing: `
      <path class="steam" d="M102 56c-8-10 8-14 0-26M122 52c-8-10 8-14 0-26M142 56c-8-10 8-14 0-26"/>
      <path class="handle" d="M158 88h10a20 20 0 0 1 0 40h-10"/>
      <path class="clay" d="M80 72h80v62a24 24 0 0 1-24 24h-32a24 24 0 0 1-24-24z"/>
      <path class="glaze" d="M80 72h80v26c-10 8-16-4-26 2s-12 14-22 8-20-2-32-6z"/>
      <ellipse class="dark" cx="120" cy="73" rx="40" ry="7"/>
      <ellipse class="tea" cx="120" cy="74" rx="34" ry="4.5"/>`,
  },
  {
    id: 'fern',
    name: 'Windowsill fern',
    line: 'Asks for little. Grows anyway.',
    price: 29,
    drawing: `
      <g class="leaf">
        <path d="M120 116c-6-40-24-62-56-70 4 34 22 58 56 70z"/>
        <path d="M120 116c6-40 24-62 56-70-4 34-22 58-56 70z"/>
      </g>
      <g class="leaf-deep">
        <path d="M120 116c-16-26-38-36-68-32 14 24 38 36 68 32z"/>
        <path d="M120 116c16-26 38-36 68-32-14 24-38 36-68 32z"/>
        <path d="M120 116c-12-36-12-62 0-92 12 30 12 56 0 92z"/>
      </g>
      <path class="vein" d="M120 36v80M76 58l44 58M164 58l-44 58"/>
      <path class="clay" d="M88 112h64l-7 40a10 10 0 0 1-10 8h-30a10 10 0 0 1-10-8z"/>
      <rect class="clay-deep" x="82" y="106" width="76" height="14" rx="5"/>`,
  },
  {
    id: 'clock',
    name: 'Moon clock',
    line: 'It is later than you think. Ships next week.',
    price: 42,
    isPreOrder: true,
    drawing: `
      <path class="dark" d="M84 150l-8 12M156 150l8 12" stroke-width="8" stroke-linecap="round"/>
      <circle class="brass" cx="120" cy="94" r="66"/>
      <circle class="night" cx="120" cy="94" r="56"/>
      <path class="moon" d="M96 56a20 20 0 1 0 15 34 23 23 0 0 1-15-34z"/>
      <g class="star"><circle cx="148" cy="70" r="2.5"/><circle cx="100" cy="124" r="2"/><circle cx="144" cy="126" r="2.5"/><circle cx="84" cy="112" r="1.5"/></g>
      <path class="hand" d="M120 94V58M120 94l26 12"/>
      <circle class="brass" cx="120" cy="94" r="5"/>`,
  },
  {
    id: 'lamp',
    name: 'Reading lamp',
    line: 'One more chapter.',
    price: 64,
    drawing: `
      <path class="beam" d="M80 68l-42 90h136l-45-56z"/>
      <path class="arm" d="M172 156l-26-58 18-46-32 0"/>
      <path class="flame" d="M80 64c4 18 34 38 50 36-6 12-22 11-36 1s-20-27-14-37z"/>
      <path class="shade" d="M126 34l28 24-24 42c-16 2-46-18-50-36z"/>
      <circle class="brass" cx="146" cy="98" r="7"/>
      <rect class="dark" x="136" y="152" width="72" height="10" rx="5"/>`,
  },
  {
    id: 'radio',
    name: 'Night radio',
    line: 'Far stations, close by.',
    price: 120,
    drawing: `
      <path class="arm thin" d="M160 58l32-38"/>
      <circle class="brass" cx="193" cy="19" r="5"/>
      <rect class="wood" x="44" y="56" width="152" height="96" rx="16"/>
      <rect class="wood-deep" x="54" y="66" width="76" height="76" rx="38"/>
      <g class="grille"><path d="M66 86h52M60 98h64M60 110h64M66 122h52"/></g>
      <rect class="dial" x="142" y="70" width="42" height="28" rx="5"/>
      <path class="needle" d="M158 74v20"/>
      <circle class="brass" cx="152" cy="122" r="10"/>
      <circle class="brass" cx="177" cy="122" r="7"/>
      <path class="dark" d="M64 152h14v8H64zM162 152h14v8h-14z"/>`,
  },
]

export function findProduct(id: unknown): Product | undefined {
  return products.find((product) => product.id === id)
}
