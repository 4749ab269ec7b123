/** The guards of a process: which starts are refused, what is answered before the end, and what replaces a worker. */
import type { Guarded } from './run.ts'

const area = 'process'
const start = 'test/start.test.ts'
const metricsPort = 'test/metrics-port.test.ts'
const drain = 'test/drain.test.ts'
const restart = 'test/restart.test.ts'
const unsafeStart = 'test/unsafe-start.test.ts'

export const processGuards: readonly Guarded[] = [
  {
    area,
    file: 'src/config.ts',
    tests: ['src/config.test.ts'],
    mutants: [
      [`(n) => n >= min && n <= max`, `(n) => n >= min`],
      [`new Set(keys).size === keys.length`, `keys.length > 0`],
      [`value !== undefined && value !== ''`, `value !== undefined`],
      [`/KEY|SECRET|URL|PASSWORD|TOKEN|CHECKPOINTS/`, `/KEY|SECRET|PASSWORD|TOKEN|CHECKPOINTS/`],
      [`/KEY|SECRET|URL|PASSWORD|TOKEN|CHECKPOINTS/`, `/KEY|SECRET|URL|PASSWORD|TOKEN/`],
      [`mistakes.push(...combinedMistakes(settings.parse(good)))`, ``],
      [`if (isProduction) mistakes.push(...unsafeInProduction(s))`, ``],
      [`new URL(s.PUBLIC_URL).pathname !== '/'`, `new URL(s.PUBLIC_URL).pathname === ''`],
      [`if (s.METRICS_PORT === s.PORT)`, `if (s.METRICS_PORT === 0)`],
      [`unsuitable.test(s.DATABASE_URL)`, `s.DATABASE_URL === ''`],
      [`new URL(server).password !== ''`, `new URL(server).password === ':'`],
      [`connectionsOf(s) < s.WRITER_LANES + 6`, `connectionsOf(s) < 7`],
      [`if (!s[name]?.startsWith(prefix))`, `if (!s[name])`],
      [
        `modeOf(s.STRIPE_SECRET_KEY) !== modeOf(s.STRIPE_PUBLISHABLE_KEY)`,
        `s.STRIPE_SECRET_KEY === s.STRIPE_PUBLISHABLE_KEY`,
      ],
      [`max === undefined || min <= 0n || max < min`, `max === undefined || min <= 0n`],
      [`max === undefined || min <= 0n || max < min`, `max === undefined || max < min`],
      [`new URL(s.PUBLIC_URL).protocol !== 'https:'`, `s.PUBLIC_URL === ''`],
      [`if (s.DEMO === '1')`, `if (s.DEMO === '')`],
      [`if (s.CARD_PROCESSOR === undefined)`, `if (s.CARD_PROCESSOR === 'sandbox')`],
      [
        `[s.STRIPE_SECRET_KEY, s.STRIPE_PUBLISHABLE_KEY].some((k) => modeOf(k) === 'test')`,
        `s.STRIPE_SECRET_KEY === ''`,
      ],
      [`if (!isKnownCurrency(s.CURRENCY))`, `if (s.CURRENCY === '')`],
      [`if (targetsOf(s).some(isPlainHttp))`, `if (targetsOf(s).length < 0)`],
      [`if (s.STRIPE_API_URL) mistakes`, `if (s.STRIPE_API_URL === '') mistakes`],
      [`if (!s.SECRETS_KEY)`, `if (s.SECRETS_KEY?.length === 0)`],
      [`if (!s.SMTP_URL)`, `if (s.SMTP_URL === '')`],
      [`hasDemo: !isProduction && s.DEMO !== '0'`, `hasDemo: s.DEMO !== '0'`],
      [`hasHsts: isProduction && s.HSTS === '1'`, `hasHsts: isProduction`],
      [`s.OPERATOR_CHANGES_NEED_TWO === undefined ? isProduction`, `s.OPERATOR_CHANGES_NEED_TWO === undefined ? false`],
      [`(isProduction ? '' : loopbackNetworks)`, `loopbackNetworks`],
    ],
  },
  {
    area,
    file: 'src/main.ts',
    tests: [unsafeStart],
    mutants: [
      [`config.isProduction ? await findUnsafeForProduction`, `config.hasDemo ? await findUnsafeForProduction`],
      [`await refuseUnsafe(db)`, `if (isWorker) await refuseUnsafe(db)`],
    ],
  },
  {
    area,
    file: 'src/main.ts',
    tests: ['test/admin/oidc.test.ts'],
    mutants: [[`if (noWayIn) throw new Error(noWayIn)`, ``]],
  },
  {
    area,
    file: 'src/main.ts',
    tests: [start],
    mutants: [
      [`if (!isWorker) await refuseUsedPorts()`, ``],
      [`if (pressedAt !== undefined && performance.now() - pressedAt >= samePressMs) process.exit(130)`, ``],
    ],
  },
  {
    area,
    file: 'src/main.ts',
    tests: [metricsPort],
    mutants: [[`if (port === undefined) continue`, `if (port === undefined || name === 'METRICS_PORT') continue`]],
  },
  {
    area,
    file: 'src/main.ts',
    tests: [drain],
    mutants: [[`      process.exit(1)\n    },`, `    },`]],
  },
  {
    area,
    file: 'src/process/drain.ts',
    tests: [start, drain, restart],
    mutants: [
      [`app.readiness.isDraining = true`, ``],
      [`await sleep(announceMs)`, ``],
      [`await Promise.race([server.stop(), sleep(requestsMs)])`, ``],
    ],
  },
  {
    area,
    file: 'src/process/drain.ts',
    tests: ['test/end.test.ts', 'test/widget-processes.test.ts'],
    mutants: [
      [`  service.live.close()\n`, ``],
      [`  service.eventWaits.close()\n`, ``],
      [`await closeService(service)`, ``],
    ],
  },
  {
    area,
    file: 'src/process/workers.ts',
    tests: [unsafeStart],
    mutants: [[`if (isStopping || !isReady) return isStopping`, `if (isStopping) return isStopping`]],
  },
  {
    area,
    file: 'src/process/workers.ts',
    tests: [restart],
    mutants: [
      [`if (hasServed && !worker.isLeaving) void restart(code)`, ``],
      [`if (!(await next.isReady)) await restart(await next.child.exited)`, ``],
      [`replacing = replacing.then(replaceAll)`, `replacing = replaceAll()`],
    ],
  },
  {
    area,
    file: 'src/process/workers.ts',
    tests: [metricsPort],
    mutants: [
      [`left = await addUp([left, worker.counted])`, ``],
      [`answers.get(worker) ?? worker.counted`, `answers.get(worker) ?? []`],
    ],
  },
]
