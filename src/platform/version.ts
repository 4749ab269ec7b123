/** Which Billfold this is, as package.json has it. */
import manifest from '../../package.json' with { type: 'json' }

export const { version } = manifest
