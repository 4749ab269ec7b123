/** `npm test -- all` runs the long forms of tests too; CONTRIBUTING names them. */
export const wantsAll = process.env['TEST_ALL'] === '1'

/** The first forms of a test by default, and every form in a long run: the strongest comes first. */
export const firstOrAll = <Form>(forms: readonly Form[], count = 1): readonly Form[] =>
  wantsAll ? forms : forms.slice(0, count)
