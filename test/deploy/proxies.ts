/** Starts the samples of nginx and Caddy with a self-signed certificate. Only ports, folders and what a test names differ from the files. */
import { expect } from 'bun:test'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { run } from '../other-server.ts'
import { isRoot } from '../root.ts'
import { ensureProgram } from '../system-package.ts'

export type Proxy = {
  readonly url: string
  readonly plainUrl: string
  /** Where it writes all its files. */
  readonly folder: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

export type Certificate = { readonly folder: string; readonly ca: string }
type Changes = readonly (readonly [from: string, to: string])[]

/** The addresses behind the proxy, the first of which takes the place of 127.0.0.1:3000. */
type Start = (upstreams: readonly string[], certificate: Certificate, changes?: Changes) => Promise<Proxy>

export async function makeCertificate(): Promise<Certificate> {
  const openssl = await ensureProgram('openssl', 'openssl')
  const folder = await mkdtemp(join(tmpdir(), 'billfold-certificate-'))
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '5', '-nodes']
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  // Each of some thousand handshakes costs an RSA key twenty times as much.
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const { code, output } = await run([openssl, 'req', '-x509', ...key, ...subject, ...files])
  if (code !== 0) throw new Error(output)
  return { folder, ca: await readFile(join(folder, 'cert.pem'), 'utf8') }
}

export const askWith =
  ({ ca }: Certificate) =>
  (url: string | Request, init: RequestInit = {}) =>
    fetch(url, { ...init, tls: { ca }, redirect: 'manual' })

async function readSample(name: string, changes: Changes): Promise<string> {
  let text = await readFile(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
  for (const [from, to] of changes) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

async function start(
  command: string[],
  at: Pick<Proxy, 'url' | 'plainUrl' | 'folder'>,
  certificate: Certificate,
): Promise<Proxy> {
  const errors = join(at.folder, 'errors')
  const child = Bun.spawn(command, {
    stdout: Bun.file(join(at.folder, 'output')),
    stderr: Bun.file(errors),
    env: { ...process.env, HOME: at.folder },
  })
  const isUp = () =>
    askWith(certificate)(`${at.url}/metrics`).then(
      ({ status }) => status === 404,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(await readFile(errors, 'utf8'))
    await Bun.sleep(50)
  }
  const stop = async () => {
    child.kill('SIGTERM')
    await child.exited
  }
  return { ...at, pid: child.pid, stop }
}

const startNginx: Start = async (upstreams, certificate, changes = []) => {
  const program = await ensureProgram('nginx', 'nginx-light')
  const folder = await mkdtemp(join(tmpdir(), 'billfold-nginx-'))
  const [port, plainPort] = [await freePort(), await freePort()]
  const sample = await readSample('nginx.conf', [
    ['server 127.0.0.1:3000;', upstreams.map((each) => `server ${each};`).join(' ')],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
    ['/etc/letsencrypt/live/wallet.example/fullchain.pem', join(certificate.folder, 'cert.pem')],
    ['/etc/letsencrypt/live/wallet.example/privkey.pem', join(certificate.folder, 'key.pem')],
    ['/var/log/nginx/', `${folder}/`],
    ...changes,
  ])
  await writeFile(join(folder, 'billfold.conf'), sample)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  for (const kind of temporary) await mkdir(join(folder, kind))
  // The logs as Debian's own nginx.conf sets them, which a sample in conf.d inherits.
  const main = `${isRoot ? 'user root;' : ''} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
    events {} http { access_log ${folder}/access.log; ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
    include ${folder}/billfold.conf; }`
  await writeFile(join(folder, 'main.conf'), main)
  const at = { url: `https://localhost:${port}`, plainUrl: `http://localhost:${plainPort}`, folder }
  return await start([program, '-c', join(folder, 'main.conf'), '-p', folder], at, certificate)
}

const startCaddy: Start = async ([upstream = ''], certificate, changes = []) => {
  const program = await ensureProgram('caddy', 'caddy')
  const folder = await mkdtemp(join(tmpdir(), 'billfold-caddy-'))
  const [port, plainPort] = [await freePort(), await freePort()]
  const url = `https://localhost:${port}`
  const files = `${join(certificate.folder, 'cert.pem')} ${join(certificate.folder, 'key.pem')}`
  const own = `admin off\n\thttp_port ${plainPort}\n\thttps_port ${port}\n\tstorage file_system ${folder}/storage`
  const sample = await readSample('Caddyfile', [
    ['127.0.0.1:3000', upstream.replace(/^unix:/, 'unix/')],
    ['wallet.example {', `${url} {\n\ttls ${files}`],
    // The block of global options.
    ['\n{\n', `\n{\n\t${own}\n`],
    ...changes,
  ])
  await writeFile(join(folder, 'Caddyfile'), sample)
  const at = { url, plainUrl: `http://localhost:${plainPort}`, folder }
  return await start([program, 'run', '--config', join(folder, 'Caddyfile')], at, certificate)
}

export const proxies: Readonly<Record<'nginx' | 'Caddy', Start>> = { nginx: startNginx, Caddy: startCaddy }
