/** Path parameters, which some resources take off before they look: none of them hides another task or route. */
import { expect, test } from 'vitest'
import type { RawRequest } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, send } = await scene({
  routes: [{ name: 'settlements', match: { path: '/settlements/{task}/*' } }],
})
const token = (target: string): RawRequest => ({
  target,
  body: '{}',
  headers: [['Fencing-Token', '1']],
})

test.each(['/settlements;v=1/job1/x', '/settlements/job1;v=1/x', '/x/..;/settlements/job1/x'])(
  '%s: 400',
  async (target) => {
    for (const request of [token(target), claim('job1', 1, { target })]) {
      refusal(await send(request), 400, 'ambiguous-target')
    }
    expect(upstream.requests).toEqual([])
  },
)

test.each(['/settlements/job1/x;v=1', '/settlements/job1/x?a=1;b=2', '/settlements/job1/a;b;c=%3B/d'])(
  '%s arrives as it was sent',
  async (target) => {
    expect((await send(token(target))).status).toBe(200)
    expect(upstream.last.target).toBe(target)
    expect(upstream.requests).toHaveLength(1)
  },
)

test('outside the route, too', async () => {
  for (const target of ['/other;v=1/x', '/a/b;c']) {
    expect((await send(claim('K', 1, { target }))).status).toBe(200)
    expect(upstream.last.target).toBe(target)
  }
})
