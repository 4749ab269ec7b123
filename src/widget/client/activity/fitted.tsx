/** An amount that is shown whole in any width: the stylesheet makes it smaller, by its number of characters. */
export function Fitted({ text }: { text: string }) {
  // The marks that isolate a currency sign have no width.
  const digits = text.replace(/\p{Cf}/gu, '').length
  return (
    <span class="money fit" style={{ '--digits': digits }}>
      {text}
    </span>
  )
}
