/** Commands at an admin port: which one is meant, with which token, and what its refusals become. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import type http from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { answeringPort } from '../support/answering-port.ts'
import { answering } from '../support/answering-socket.ts'
import { captureOutput } from '../support/captured-output.ts'
import { identity, pemFile } from '../support/certificates.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const output = captureOutput()
afterEach(() => void vi.unstubAllEnvs())

const TOKEN = 'abcdefghijklmnopqrstuvwxyz'
const OPEN = '{"task":"K","mark":"8","frozen":true,"passes":"8","open":[]}'

function file(content: string): string {
  const full = path.join(temporaryDirectory(), 'token')
  fs.writeFileSync(full, content)
  return full
}

test.each([
  ['alone', TOKEN],
  ['with a line end', `${TOKEN}\r\n`],
  ['with a name, as in the sidecar’s file', `# for the night shift\nana ${TOKEN}\n`],
])(
  'an act goes to the admin port with the token from a file, %s; its author is the token’s',
  async (_, content) => {
    const { url, asked } = await answeringPort((_, res) => res.end(OPEN))
    const server = ['--server', url, '--token-file', file(content)]
    expect(await run(['freeze', 'K/é', '--reason', 'why', ...server])).toBe(0)
    expect(asked).toEqual([`POST /v1/tasks/K%2F%C3%A9/freeze ${TOKEN} {"reason":"why"}`])
  },
)

test('reads go without a token, and lists too, below the path of the URL', async () => {
  const { url, asked } = await answeringPort((req, res) =>
    res.end(req.url?.includes('unknown') ? '{"unknown":[]}' : '{"operations":[]}'),
  )
  expect(await run(['unknown', '--server', `${url}/`])).toBe(0)
  expect(await run(['operations', '--server', `${url}/fence/`])).toBe(0)
  expect(asked).toEqual([
    'GET /v1/unknown?limit=100 no token',
    'GET /fence/v1/operations?limit=500&after=0 no token',
  ])
})

test('a task named ".." is no step up', async () => {
  const { url, asked } = await answeringPort((_, res) => res.end(OPEN))
  expect(await run(['freeze', '..', '--reason', 'why', '--server', url])).toBe(0)
  expect(asked).toEqual(['POST /v1/tasks/../freeze no token {"reason":"why"}'])
})

test('the environment names server and token file; --data means the socket all the same', async () => {
  const { url, asked } = await answeringPort((_, res) => res.end(OPEN))
  vi.stubEnv('FENCEGATE_SERVER', url)
  vi.stubEnv('FENCEGATE_TOKEN_FILE', file(TOKEN))
  expect(await run(['freeze', 'K', '--reason', 'why'])).toBe(0)
  expect(asked).toEqual([`POST /v1/tasks/K/freeze ${TOKEN} {"reason":"why"}`])
  const socket = await answering((_, res) => res.end(OPEN))
  expect(await run(['freeze', 'K', '--reason', 'why', '--by', 'ana', '--data', socket.data])).toBe(0)
  expect([asked.length, socket.asked]).toEqual([1, ['POST /v1/tasks/K/freeze {"by":"ana","reason":"why"}']])
  expect(await run(['backup', 'b.db', '--reason', 'why', '--json', '--data', socket.data])).toBe(0)
  expect(asked.length).toBe(1)
})

test('a misspelt variable is a fault at an admin port too', async () => {
  vi.stubEnv('FENCEGATE_TOKENFILE', 'x')
  expect(await run(['unknown', '--server', 'http://127.0.0.1:1'])).toBe(64)
  expect(output.stderr).toContain(
    'FENCEGATE_TOKENFILE: is not a variable of fencegate. Did you mean FENCEGATE_TOKEN_FILE?',
  )
})

const SERVER = ['--server', 'http://127.0.0.1:1']
test.each<[string, () => string[], string]>([
  ['--by', () => [...SERVER, '--by', 'ana'], "--by: at an admin port the author is the token's name"],
  ['--data', () => [...SERVER, '--data', 'd'], "'--server <url>' cannot be used with option '--data <dir>'"],
  [
    '--config',
    () => [...SERVER, '--config', 'c'],
    "'--server <url>' cannot be used with option '--config <file>'",
  ],
  ['a token without a server', () => ['--token-file', 't'], 'name that with --server'],
  [
    'no URL',
    () => ['--server', '127.0.0.1:8471'],
    '--server: is not an http or https URL: write one such as',
  ],
  ['another scheme', () => ['--server', 'ftp://a'], 'is not an http or https URL'],
  ['a credential', () => ['--server', 'http://u:s3cr3t@a'], '--server: must not hold a credential'],
  ['a query', () => ['--server', 'http://a/?token=s3cr3t'], '--server: must end with the host, port or path'],
  [
    'no file',
    () => [...SERVER, '--token-file', 'nowhere'],
    "--token-file: can't be read (ENOENT): name a file",
  ],
  ['an empty file', () => [...SERVER, '--token-file', file('\n')], 'the file has no token of 20 to 512'],
  ['a short token', () => [...SERVER, '--token-file', file('s3cr3t')], 'the file has no token of 20 to 512'],
  ['two tokens', () => [...SERVER, '--token-file', file(`a ${TOKEN}\nb ${TOKEN}`)], 'the file has 2 lines'],
  ['no JSON', () => [...SERVER, '--token-file', file(`{"s3cr3t": "${TOKEN}" }`)], 'the file has no token'],
])('refused with 64 and the remedy, and no secret is shown: %s', async (_, args, message) => {
  expect(await run(['freeze', 'K', '--reason', 'why', ...args()])).toBe(64)
  expect([output.stdout, output.stderr]).toEqual(['', expect.stringContaining(message)])
  expect(output.stderr).not.toMatch(new RegExp(`s3cr3t|${TOKEN}`))
})

const refusing =
  (status: number, error: string, headers: http.OutgoingHttpHeaders = {}): http.RequestListener =>
  (_, res) =>
    void res.writeHead(status, headers).end(JSON.stringify({ error }))

test.each<[string, http.RequestListener, number, string]>([
  ['401', refusing(401, 'no token'), 64, 'no token. --token-file names the file'],
  ['403', refusing(403, 'no acts here.'), 64, 'no acts here. With --data or --config, on its host,'],
  ['404', refusing(404, 'there is no such'), 64, 'fencegate: there is no such\n'],
  ['409', refusing(409, 'the mark is 9'), 64, 'fencegate: the mark is 9\n'],
  ['421', refusing(421, 'not this Host'), 64, 'not this Host. Or give a token with --token-file.'],
  ['429', refusing(429, 'wait 40 s'), 69, 'fencegate: wait 40 s\n'],
  ['503', refusing(503, 'it stops'), 69, 'fencegate: it stops\n'],
  [
    'a redirect',
    refusing(302, '', { Location: 'https://b.example/x' }),
    64,
    'to https://b.example: name that with --server',
  ],
  ['a page', (_, res) => res.writeHead(502).end('<html>'), 69, '(status 502) is no answer of a sidecar'],
  ['other JSON', (_, res) => res.end('null'), 69, '(status 200) is no answer of a sidecar'],
])('what a server answers: %s', async (_, listener, code, message) => {
  const { url } = await answeringPort(listener)
  expect(await run(['freeze', 'K', '--reason', 'why', '--server', url])).toBe(code)
  expect([output.stdout, output.stderr]).toEqual(['', expect.stringContaining(message)])
})

test('https: only where the certificate is trusted, and then as http', async () => {
  const { url, asked } = await answeringPort((_, res) => res.end('{"unknown":[]}'), identity('server-1'))
  expect(await run(['unknown', '--server', url])).toBe(69)
  expect(output.stderr).toMatch(
    /\(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\. Its certificate isn't trusted here: name that/,
  )
  expect(asked).toEqual([])
  const main = path.join(import.meta.dirname, '../../src/main.ts')
  const args = ['unknown', '--json', '--server', url, '--token-file', file(TOKEN)]
  const env = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: pemFile('server-ca') }
  expect((await promisify(execFile)(process.execPath, [main, ...args], { env })).stdout).toBe('[]\n')
  expect(asked).toEqual([`GET /v1/unknown?limit=100 ${TOKEN}`])
}, 30_000)

test('a port where nobody listens, and one that speaks no TLS', async () => {
  expect(await run(['status', '--server', 'http://127.0.0.1:1'])).toBe(69)
  expect(output.stderr).toContain(
    'no sidecar answers at http://127.0.0.1:1 (ECONNREFUSED). Name its admin port',
  )
  const { url } = await answeringPort(() => {})
  expect(await run(['status', '--server', url.replace('http', 'https')])).toBe(69)
  expect(output.stderr).toContain('It speaks no TLS there: write http://')
})
