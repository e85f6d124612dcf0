/** Reads the `claim` section: in which header fields a request says what it holds, and which tokens can be. */
import { MAX_TOKEN } from '../token.ts'
import type { ClaimConfig } from './config.ts'
import { type Faults, shown } from './faults.ts'
import { parseClaimHeader, twinOf } from './header-fields.ts'
import type { ConfigFile } from './schema.ts'
import { parseTokenValue } from './values.ts'

export function resolveClaim(claim: ConfigFile['claim'], faults: Faults): ClaimConfig {
  const names = (['taskHeader', 'tokenHeader', 'holderHeader', 'operationHeader'] as const).map((key) => ({
    keyPath: `claim.${key}`,
    name: faults.read(`claim.${key}`, key, () => parseClaimHeader(claim[key])),
  }))
  for (const [index, { keyPath, name }] of names.entries()) {
    const twin = names.slice(0, index).find((earlier) => twinOf(earlier.name) === twinOf(name))
    if (twin) faults.add(keyPath, `${shown(name)} can't be told from ${twin.keyPath}: name another field`)
  }
  const [taskHeader, tokenHeader, holderHeader, operationHeader] = names.map(({ name }) => name) as [
    string,
    string,
    string,
    string,
  ]
  const token = (key: 'maxToken' | 'maxTokenJump', text: string) =>
    faults.read(`claim.${key}`, MAX_TOKEN, () => parseTokenValue(text))
  return {
    taskHeader,
    tokenHeader,
    holderHeader,
    operationHeader,
    maxToken: token('maxToken', claim.maxToken),
    maxTokenJump: claim.maxTokenJump === undefined ? undefined : token('maxTokenJump', claim.maxTokenJump),
  }
}

/** The fields that nothing but the claim may use. */
export function claimHeadersOf(claim: ClaimConfig): string[] {
  return [claim.taskHeader, claim.tokenHeader, claim.holderHeader, claim.operationHeader]
}
