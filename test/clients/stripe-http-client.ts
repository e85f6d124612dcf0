/**
 * The HTTP client that a fenced worker gives to the Stripe SDK. It does two things for each attempt: it adds the
 * claim as it is at that moment, and it turns a refusal of the sidecar's into the shape of Stripe's own errors,
 * because the SDK takes an answer without a member `error` for a result, whatever its status.
 */
import Stripe from 'stripe'

export interface Claim {
  readonly task: string
  readonly token: number
  readonly holder?: string
}

type Request = Parameters<Stripe.HttpClient['makeRequest']>

export class FencingHttpClient extends Stripe.HttpClient {
  readonly #inner = Stripe.createNodeHttpClient()
  readonly #claim: () => Claim

  constructor(claim: () => Claim) {
    super()
    this.#claim = claim
  }

  override getClientName(): string {
    return this.#inner.getClientName()
  }

  override async makeRequest(...[host, port, path, method, headers, ...rest]: Request) {
    const { task, token, holder } = this.#claim()
    const claimed = {
      ...headers,
      'Fencing-Task': task,
      'Fencing-Token': String(token),
      ...(holder === undefined ? {} : { 'Fencing-Holder': holder }),
    }
    const response = await this.#inner.makeRequest(host, port, path, method, claimed, ...rest)
    if (String(response.getHeaders()['content-type']).startsWith('application/problem+json')) {
      const toJSON = response.toJSON.bind(response)
      response.toJSON = async () => asStripeError(await toJSON())
    }
    return response
  }
}

function asStripeError(problem: Record<string, string>) {
  return { error: { type: 'fencing_error', code: problem.code, message: problem.detail, problem } }
}
