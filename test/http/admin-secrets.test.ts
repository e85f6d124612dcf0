/** Secrets stay secret: planted wherever there is one, and looked for in every answer, in the log and in errors. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { control } from '../support/operator.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { Sidecar, temporaryDirectory } from '../support/sidecar.ts'

const TLS = path.join(import.meta.dirname, '../support/tls')
const directory = temporaryDirectory()
const write = (name: string, text: string) => {
  const file = path.join(directory, name)
  fs.writeFileSync(file, text, { mode: 0o600 })
  return file
}
const [CREDENTIAL, OWN_CREDENTIAL] = ['Bearer planted-credential-of-all', 'Bearer planted-credential-of-one']
const [TOKEN, LATER_TOKEN] = ['planted-admin-token-0123456789', 'planted-later-token-0123456789']
const KEY = Buffer.from('planted-key-of-operations-123456')
const keyFiles = ['server-1-key.pem', 'client-dns-key.pem', 'client-settler-key.pem'].map((name) =>
  path.join(TLS, name),
)

const upstream = await RecordingUpstream.start()
afterAll(() => upstream.close())
const tokenFile = write('tokens', `ana ${TOKEN}\n`)
const sidecar = await Sidecar.start({
  upstream: upstream.url,
  config: {
    admin: { tokenFile },
    tls: { cert: path.join(TLS, 'server-1.pem'), key: keyFiles[0] as string },
    upstream: {
      url: 'https://127.0.0.1:1',
      auth: { file: write('all', CREDENTIAL) },
      tls: identity(1, 'client-dns'),
    },
    operations: { keyFile: write('operations.key', KEY.toString('base64')) },
    routes: [
      {
        ...{ name: 'own', match: { path: '/own/*' }, refusalHeaders: { 'x-shown': 'yes' } },
        upstream: {
          url: 'https://127.0.0.1:2',
          auth: { header: 'x-api-key', file: write('own', OWN_CREDENTIAL) },
          tls: identity(2, 'client-settler'),
        },
      },
    ],
  },
})

function identity(index: number, name: string) {
  return { cert: path.join(TLS, `${name}.pem`), key: keyFiles[index] as string }
}

/** Each secret as it could show: as text, and as bytes in the ways in which those are written. */
const planted = [
  ...[CREDENTIAL, OWN_CREDENTIAL, TOKEN, LATER_TOKEN].map((text) => text.replace('Bearer ', '')),
  ...[TOKEN, LATER_TOKEN].flatMap((token) => written(createHash('sha256').update(token).digest())),
  ...written(KEY),
  ...keyFiles.flatMap((file) => fs.readFileSync(file, 'utf8').split('\n').slice(1, 3)),
]

function written(bytes: Buffer): string[] {
  return [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url'), [...bytes].join(',')]
}

function expectNone(text: string, where: string): void {
  expect([where, planted.filter((secret) => text.includes(secret))]).toEqual([where, []])
}

const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
const url = (target: string) => `http://127.0.0.1:${sidecar.adminPort}${target}`

test('the configuration in force is shown, without its secrets', async () => {
  const { config } = (await (await sidecar.admin('/v1/config')).json()) as { config: Record<string, unknown> }
  expect(config).toMatchObject({
    admin: { tokens: { named: [{ name: 'ana', digest: '(set)' }] } },
    tls: { key: '(set)', cert: expect.stringContaining('BEGIN CERTIFICATE') },
    upstream: {
      origin: 'https://127.0.0.1:1',
      auth: { header: 'authorization', value: '(set)' },
      tls: { key: '(set)' },
    },
    operations: { key: '(set)' },
    claim: { maxToken: '9223372036854775807' },
    routes: [
      {
        name: 'own',
        refusalHeaders: { 'x-shown': 'yes' },
        upstream: { auth: { header: 'x-api-key', value: '(set)' }, tls: { key: '(set)' } },
      },
      { name: 'default' },
    ],
  })
})

test('no answer of any route, and no error, holds one', async () => {
  const { paths } = (await (await sidecar.admin('/v1/openapi.json')).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  let asked = 0
  for (const [route, methods] of Object.entries(paths)) {
    if (route === '/v1/journal/stream') continue
    const target = route.replace(/\{\w+\}/, 'T')
    for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
      const body = method === 'POST' ? JSON.stringify({ reason: 'because', token: '5' }) : null
      for (const authorization of [headers.authorization, 'Bearer wrong', `Basic ${TOKEN}`]) {
        const answer = await fetch(url(target), { method, body, headers: { ...headers, authorization } })
        expectNone(`${JSON.stringify([...answer.headers])}${await answer.text()}`, `${method} ${target}`)
        asked++
      }
      if (!route.startsWith('/v1/')) continue
      const own = await control(
        sidecar,
        method,
        target,
        method === 'POST' ? { by: 'ana', reason: 'x' } : undefined,
      ).catch(String)
      expectNone(JSON.stringify(own), `${method} ${target} on the socket`)
    }
  }
  expect(asked).toBeGreaterThan(50)
})

test('no reload, applied or refused, tells one', async () => {
  for (const text of [`ana ${LATER_TOKEN}\n`, `ana ${TOKEN}\nana ${LATER_TOKEN}\n`, `ana\n${TOKEN}\n`]) {
    write('tokens', text)
    await sidecar.reload()
    expectNone(await (await sidecar.admin('/v1/config')).text(), '/v1/config')
  }
  await sidecar.reload({ admin: { tokenFile: TOKEN } })
  expectNone(await (await sidecar.admin('/v1/config')).text(), '/v1/config')
  await sidecar.stop()
  expectNone(sidecar.process.output, 'the log')
  expect(sidecar.process.output).toContain('is refused')
})
