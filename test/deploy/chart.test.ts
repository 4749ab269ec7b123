/**
 * The chart, rendered with the arguments of docs/operations/install.md, and its objects checked with Kubernetes' own types and with the
 * settings, ports and paths of the service. No test installs it: that needs a cluster.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { parseConfig, variableNames } from '../../src/config.ts'
import { run } from '../other-server.ts'
import { secretsKey } from '../service.ts'
import { objectsIn, renderChart, setValue, type Tree } from './chart.ts'
import { box } from './runbooks.ts'

setDefaultTimeout(180_000)

const root = new URL('../../', import.meta.url).pathname
const chart = join(root, 'deploy/helm/billfold')
const defaults = Bun.YAML.parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Tree

/** The command of the page: the name of the release, and what it sets. */
const installed = box('helm-install').join('\n').replaceAll(/\\\n/g, ' ').trim().split(/\s+/)
const documentedSets = installed.flatMap((word, i) => (installed[i - 1] === '--set' ? [word] : []))

const render = (sets: readonly string[] = documentedSets) =>
  renderChart(chart, sets.reduce(setValue, defaults), { Name: installed[2]!, Revision: 1 })

/** Undefined if there is nothing at the path. */
const at = (tree: unknown, ...path: (string | number)[]): unknown =>
  path.reduce((found, key) => (found as Record<string | number, unknown> | undefined)?.[key], tree)

const kindOf = (object: Tree) => `${String(object['apiVersion'])} ${String(object['kind'])}`
const nameOf = (object: Tree) => String(at(object, 'metadata', 'name'))
const only = (objects: readonly Tree[], kind: string, name = 'billfold') =>
  objects.find((object) => object['kind'] === kind && nameOf(object) === name)!

/** The types that were generated from Kubernetes' published API description. */
const types: Readonly<Record<string, string>> = {
  'apps/v1 Deployment': 'apps/v1',
  'batch/v1 Job': 'batch/v1',
  'networking.k8s.io/v1 Ingress': 'networking/v1',
  'policy/v1 PodDisruptionBudget': 'policy/v1',
  'v1 Secret': 'core/v1',
  'v1 Service': 'core/v1',
}

/** What the compiler says of the objects as literals of those types: a field that is unknown, missing or of another type. */
async function faultsOf(objects: readonly Tree[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'billfold-chart-'))
  const declared = objects.map((object, i) => {
    const type = `import('${root}node_modules/kubernetes-types/${types[kindOf(object)]}').${String(object['kind'])}`
    return `export const object${i}: ${type} = ${JSON.stringify(object, null, 1)}`
  })
  await writeFile(join(folder, 'objects.ts'), declared.join('\n'))
  const flags = ['--noEmit', '--strict', '--ignoreConfig', '--types', '', '--module', 'nodenext', '--target', 'esnext']
  const { code, output } = await run([join(root, 'node_modules/.bin/tsc'), ...flags, join(folder, 'objects.ts')])
  await rm(folder, { recursive: true })
  return code === 0 ? '' : output
}

const firstTry = ['secret.values.DATABASE_URL=postgres://db/billfold', `secret.values.SECRETS_KEY=${secretsKey}`]

test('the objects are what Kubernetes accepts, with a Secret of yours and with one of the chart', async () => {
  const objects = render()
  expect(objects.map(kindOf).toSorted()).toEqual([
    'apps/v1 Deployment',
    'batch/v1 Job',
    'networking.k8s.io/v1 Ingress',
    'networking.k8s.io/v1 Ingress',
    'policy/v1 PodDisruptionBudget',
    'v1 Service',
    'v1 Service',
  ])
  const own = render(['publicUrl=https://wallet.example', ...firstTry])
  expect(own.filter(({ kind }) => kind === 'Secret')).toHaveLength(1)
  expect(await faultsOf([...objects, ...own])).toBe('')
})

test('a field that Kubernetes does not know, one that is missing, and one of another type are found', async () => {
  const deployment = only(render(), 'Deployment')
  const changed = (path: string, value: string) => setValue(deployment, `${path}=${value}`)
  expect(await faultsOf([changed('spec.replica', '3')])).toContain('does not exist in type ')
  expect(await faultsOf([changed('spec.replicas', 'three')])).toContain("not assignable to type 'number'")
  const { selector: _, ...spec } = deployment['spec'] as Tree
  expect(await faultsOf([{ ...deployment, spec }])).toContain("'selector' is missing")
})

test('names are unique, and every selector finds the pods of the Deployment and not those of the migration', () => {
  const objects = render()
  const names = objects.map((object) => `${kindOf(object)} ${nameOf(object)}`)
  expect(new Set(names).size).toBe(names.length)
  const deployment = only(objects, 'Deployment')
  const labels = at(deployment, 'spec', 'template', 'metadata', 'labels')
  const selectors = [
    at(deployment, 'spec', 'selector', 'matchLabels'),
    at(deployment, 'spec', 'template', 'spec', 'topologySpreadConstraints', 0, 'labelSelector', 'matchLabels'),
    at(only(objects, 'PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'),
    at(only(objects, 'Service'), 'spec', 'selector'),
    at(only(objects, 'Service', 'billfold-metrics'), 'spec', 'selector'),
  ]
  for (const selector of selectors) expect(selector).toEqual(labels)
  const job = at(only(objects, 'Job', 'billfold-migrate-1'), 'spec', 'template', 'metadata', 'labels') as Tree
  expect(Object.entries(labels as Tree).every(([name, value]) => job[name] === value)).toBe(false)
})

test('an address outside leads to the port of the service, in every step', () => {
  const objects = render([...documentedSets, 'service.port=8080', 'settings.METRICS_PORT=9999'])
  const container = at(only(objects, 'Deployment'), 'spec', 'template', 'spec', 'containers', 0)
  expect(at(container, 'ports')).toEqual([
    { name: 'http', containerPort: 3000 },
    { name: 'metrics', containerPort: 9999 },
  ])
  expect(at(only(objects, 'Service'), 'spec', 'ports')).toEqual([{ name: 'http', port: 8080, targetPort: 'http' }])
  const metrics = at(only(objects, 'Service', 'billfold-metrics'), 'spec', 'ports')
  expect(metrics).toEqual([{ name: 'metrics', port: 9999, targetPort: 'metrics' }])
  const ingresses = objects.filter(({ kind }) => kind === 'Ingress')
  for (const ingress of ingresses) {
    const [rule] = at(ingress, 'spec', 'rules') as Tree[]
    expect(at(rule, 'http', 'paths', 0, 'backend')).toEqual({ service: { name: 'billfold', port: { name: 'http' } } })
    expect(at(ingress, 'spec', 'tls')).toEqual([{ hosts: [rule!['host']], secretName: 'wallet-tls' }])
  }
  expect(render([...documentedSets, 'ingress.enabled=false']).some(({ kind }) => kind === 'Ingress')).toBe(false)
})

test('the pods have probes of existing paths, and the shutdown enough time', () => {
  const pod = at(only(render(), 'Deployment'), 'spec', 'template', 'spec')
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'].map((name) => at(pod, 'containers', 0, name))
  const gets = ['/healthz', '/readyz', '/healthz'].map((path) => ({ path, port: 'http' }))
  expect(probes.map((probe) => at(probe, 'httpGet'))).toEqual(gets)
  const { announceMs } = parseConfig(environmentOf(only(render(), 'Deployment')))
  expect(Number(at(pod, 'terminationGracePeriodSeconds'))).toBeGreaterThan(announceMs / 1_000 + 20)
  expect(Number(at(only(render(), 'Deployment'), 'spec', 'replicas'))).toBeGreaterThan(1)
})

/** What the process gets: the image's variables, those of the pod, and a Secret with the required ones. */
function environmentOf(workload: Tree): Record<string, string> {
  const env = at(workload, 'spec', 'template', 'spec', 'containers', 0, 'env') as { name: string; value: string }[]
  const given = Object.fromEntries(env.map(({ name, value }) => [name, value]))
  const secret = { SECRETS_KEY: secretsKey, SMTP_URL: 'smtp://mail.example', DATABASE_URL: 'postgres://db/billfold' }
  return { NODE_ENV: 'production', PORT: '3000', ...given, ...secret }
}

test('its variables are settings that the service starts with in production', () => {
  const objects = render()
  for (const workload of [only(objects, 'Deployment'), only(objects, 'Job', 'billfold-migrate-1')]) {
    const environment = environmentOf(workload)
    expect(Object.keys(environment).filter((name) => !variableNames.includes(name))).toEqual([])
    expect(parseConfig(environment)).toMatchObject({ publicUrl: 'https://wallet.example', metricsPort: 9464 })
    const container = at(workload, 'spec', 'template', 'spec', 'containers', 0)
    expect(at(container, 'envFrom')).toEqual([{ secretRef: { name: 'billfold-secrets' } }])
    expect(at(container, 'image')).toBe(`registry.example/billfold:${manifest.version}`)
  }
})

test('keys of the Secret that the page and the values name are settings', async () => {
  const page = await readFile(join(root, 'docs/operations/install.md'), 'utf8')
  const said = /`billfold-secrets` is a Secret whose keys are settings:([\s\S]*?)\n\n/.exec(page)![1]!
  const comment = /^# (DATABASE_URL, .*)$/m.exec(readFileSync(join(chart, 'values.yaml'), 'utf8'))![1]!
  const keys = [...`${said} ${comment}`.matchAll(/\b[A-Z]+_[A-Z_]+\b/g)].map(([name]) => name)
  expect(keys.length).toBeGreaterThan(6)
  expect(keys.filter((name) => !variableNames.includes(name))).toEqual([])
})

test('every container runs as the image’s user, cannot write to its files and gets no right', async () => {
  const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(await readFile(join(root, 'deploy/Dockerfile'), 'utf8'))!
  const objects = render()
  for (const workload of [only(objects, 'Deployment'), only(objects, 'Job', 'billfold-migrate-1')]) {
    const pod = at(workload, 'spec', 'template', 'spec')
    expect(at(pod, 'containers', 0, 'securityContext')).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: Number(uid),
      runAsGroup: Number(gid),
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(at(pod, 'automountServiceAccountToken')).toBe(false)
    expect((at(pod, 'containers') as unknown[]).length).toBe(1)
  }
  expect(at(only(objects, 'Job', 'billfold-migrate-1'), 'spec', 'template', 'spec', 'containers', 0, 'args')).toEqual([
    'src/cli.ts',
    'migrate',
  ])
})

const hookOf = (objects: readonly Tree[]) =>
  at(only(objects, 'Job', 'billfold-migrate-1'), 'metadata', 'annotations', 'helm.sh/hook')

test('the migration runs before the first pods if the Secret is there already, and without a secret nothing is rendered', () => {
  expect(hookOf(render())).toBe('pre-install,pre-upgrade')
  expect(hookOf(render(['publicUrl=https://wallet.example', ...firstTry]))).toBe('pre-upgrade')
  expect(() => render(['publicUrl=https://wallet.example'])).toThrow(
    'secret.existing, or secret.values with DATABASE_URL',
  )
  expect(() => render(['secret.existing=billfold-secrets'])).toThrow('publicUrl: the https address')
})

/** The paths of all values; the settings, a Secret's keys and resources are one value each. */
function pathsOf(tree: Tree, path: string[] = []): string[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const here = [...path, key]
    const isWhole = typeof value !== 'object' || ['settings', 'secret.values', 'resources'].includes(here.join('.'))
    return isWhole ? [here.join('.')] : pathsOf(value as Tree, here)
  })
}

test('every value is used by a template and explained on the page, and no other is', async () => {
  const templates = readdirSync(join(chart, 'templates')).map((name) =>
    readFileSync(join(chart, 'templates', name), 'utf8'),
  )
  const used = new Set(
    templates
      .join('\n')
      .match(/(?<=\.Values\.)[\w.]+/g)!
      .map((path) => path.replace(/^settings\..*/, 'settings')),
  )
  used.delete('secret')
  const paths = pathsOf(defaults)
  expect([...used].toSorted()).toEqual(paths.toSorted())
  const page = await readFile(join(root, 'docs/operations/install.md'), 'utf8')
  const table = page.split('### Values of the chart\n')[1]!.split('\n#')[0]!
  const rows = [...table.matchAll(/^\| (`[^|]*`) *\|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`([\w.]+)`/g)])
  expect(rows.map(([, path]) => path!).toSorted()).toEqual(paths.toSorted())
})

test('its versions are those of the service', async () => {
  const { version, appVersion } = Bun.YAML.parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as Tree
  expect([version, appVersion]).toEqual([manifest.version, manifest.version])
})

const helm = Bun.which('helm')

describe.skipIf(!helm)(`with helm${helm ? '' : ' (not run: it is not on this machine)'}`, () => {
  const sets = documentedSets.flatMap((set) => ['--set', set])

  test('helm lint finds no fault', async () => {
    const { code, output } = await run([helm!, 'lint', '--strict', chart, ...sets])
    expect([code, output]).toEqual([0, expect.any(String)])
  })

  test('helm renders the same objects', async () => {
    const { output } = await run([helm!, 'template', installed[2]!, chart, ...sets])
    expect(comparable(objectsIn(output))).toEqual(comparable(render()))
  })
})

/** Helm writes the same JSON with other escapes, so its sums may differ. */
const withoutSums = (key: string, value: unknown) => (key.startsWith('checksum/') ? 'sum' : value)

function comparable(objects: readonly Tree[]): string[] {
  return objects.map((object) => JSON.stringify(object, withoutSums)).toSorted()
}
