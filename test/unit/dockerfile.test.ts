/** What the Dockerfile must say, by reading it: no engine is needed. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  environmentOf,
  type Instruction,
  inContext,
  parseDockerfile,
  type Stage,
} from '../support/dockerfile.ts'
import { ROOT } from '../support/sources.ts'

const read = (name: string) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const stages = parseDockerfile(read('Dockerfile'))
const final = stages.at(-1) as Stage
const manifest = JSON.parse(read('package.json'))

/** The one instruction of that name in the image's own stage. */
function only(name: string): Instruction {
  const found = final.instructions.filter((instruction) => instruction.name === name)
  expect(found, name).toHaveLength(1)
  return found[0] as Instruction
}

describe('the Dockerfile', () => {
  it('builds on a named version of Node that the package supports', () => {
    const oldest = Number(/^>=(\d+)(\.\d+)?$/.exec(manifest.engines.node)?.[1])
    const majors = stages.map(({ image }) => Number(/^node:(\d+)-slim$/.exec(image)?.[1]))
    expect(new Set(majors).size).toBe(1)
    expect(majors[0]).toBeGreaterThanOrEqual(oldest)
    expect(majors[0]).toBe(Number.parseInt(manifest.devDependencies.node, 10))
  })

  it('adds nothing from the network or an archive', () => {
    expect(stages.flatMap(({ instructions }) => instructions).filter(({ name }) => name === 'ADD')).toEqual(
      [],
    )
  })

  it('leaves build tools and development packages behind', () => {
    const sources = final.instructions.filter(({ name }) => name === 'COPY')
    expect(sources.some(({ text }) => /\bsrc\b/.test(text))).toBe(false)
    const from = sources.find(({ text }) => text.includes('node_modules'))?.flags.from
    const stage = stages.find(({ name }) => name === from) as Stage
    const installs = stage.instructions.filter(({ name, text }) => name === 'RUN' && text.startsWith('npm'))
    expect(installs.map(({ text }) => text.includes('--omit=dev'))).toEqual([true])
  })

  it('runs as a user that is not root, given as a number', () => {
    expect(only('USER').text).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    const names = final.instructions.map(({ name }) => name)
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'))
  })

  it('writes in the volume alone, which belongs to that user', () => {
    const data = environmentOf(final).FENCEGATE_DATA
    expect(only('VOLUME').exec).toEqual([data])
    const [user, group] = only('USER').text.split(':')
    const made = `install -d -o ${user} -g ${group} -m 0700 ${data}`
    const at = final.instructions.findIndex(({ name, text }) => name === 'RUN' && text === made)
    expect(at).toBeGreaterThan(0)
    expect(final.instructions.findIndex(({ name }) => name === 'VOLUME')).toBeGreaterThan(at)
  })

  it('exposes the ports that its environment names', () => {
    const env = environmentOf(final)
    const ports = [env.FENCEGATE_LISTEN, env.FENCEGATE_ADMIN].map((address) => address?.split(':').at(-1))
    expect(only('EXPOSE').text.split(' ')).toEqual(ports)
  })

  it('starts without a shell, so that signals arrive', () => {
    for (const name of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK']) expect(only(name).exec, name).toBeDefined()
  })

  it('sees nothing in the build that it does not need', () => {
    const ignored = read('.dockerignore')
    const hidden = [
      'node_modules/x',
      'dist/main.js',
      'data/marks.db',
      '.git/config',
      'test/x.ts',
      '.env',
      '.npmrc',
    ]
    expect(hidden.filter((file) => inContext(ignored, file))).toEqual([])
    expect(['src/main.ts', 'package.json'].filter((file) => !inContext(ignored, file))).toEqual([])
  })
})

describe('the health check', () => {
  /** The exit code of the check, with the admin port at `address`. */
  async function check(address: string): Promise<number | null> {
    const [program, ...args] = only('HEALTHCHECK').exec ?? []
    expect(program).toBe('node')
    const child = spawn(process.execPath, args, { env: { FENCEGATE_ADMIN: address }, stdio: 'inherit' })
    return new Promise((resolve) => child.once('exit', resolve))
  }

  async function answering(
    status: number,
    host: string,
    test: (port: number) => Promise<void>,
  ): Promise<void> {
    const server = http.createServer((req, res) => {
      res.statusCode = req.url === '/livez' && req.method === 'GET' ? status : 404
      res.end()
    })
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    try {
      await test((server.address() as AddressInfo).port)
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  }

  it('passes if /livez answers 200, also where the port listens on every interface', () =>
    answering(200, '127.0.0.1', async (port) => {
      expect(await check(`127.0.0.1:${port}`)).toBe(0)
      expect(await check(`0.0.0.0:${port}`)).toBe(0)
    }))

  it('fails if /livez answers 503', () =>
    answering(503, '127.0.0.1', async (port) => expect(await check(`127.0.0.1:${port}`)).toBe(1)))

  it('fails if nothing listens', async () => {
    let closed = 0
    await answering(200, '127.0.0.1', async (port) => {
      closed = port
    })
    expect(await check(`127.0.0.1:${closed}`)).toBe(1)
  })
})

describe('the reading of Dockerfiles', () => {
  it('joins continued lines, takes flags and exec forms apart, and names stages', () => {
    const text =
      'FROM a:1 AS b\n# note\nENV X=1 \\\n  # between\n  Y=2\nFROM c:2\nCOPY --from=b /x ./x\nCMD ["a", "b"]\n'
    const [first, second] = parseDockerfile(text) as [Stage, Stage]
    expect([first.image, first.name, second.name]).toEqual(['a:1', 'b', undefined])
    expect(environmentOf(first)).toEqual({ X: '1', Y: '2' })
    expect(second.instructions).toMatchObject([
      { name: 'COPY', flags: { from: 'b' }, text: '/x ./x', exec: undefined },
      { name: 'CMD', exec: ['a', 'b'] },
    ])
  })

  it('stops at what it does not understand', () => {
    expect(() => parseDockerfile('RUN x\n')).toThrow('before the first FROM')
    expect(() => parseDockerfile('FROM a\nRUN x \\\n')).toThrow('continued')
    expect(() => parseDockerfile('FROM a\nCMD ["a", 1]\n')).toThrow('not an exec form')
    expect(() => inContext('**/x', 'x')).toThrow('not a pattern')
  })
})
