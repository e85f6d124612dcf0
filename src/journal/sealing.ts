/**
 * Encrypts the bodies of kept answers at rest (AES-256-GCM): what a backup or a copied disk holds of them is of no use
 * without the key file.
 *
 * ```
 *   version (1 byte), key id (8), nonce (12), ciphertext, tag (16)
 * ```
 *
 * Invariants: a nonce is random and used once, which holds for 2^32 bodies under one key (NIST SP 800-38D, section
 * 8.3); a body opens only under the key and for the operation that it was sealed with, so that no row of the store can
 * pass for another's.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { InvariantError } from '../errors.ts'

const CIPHER = 'aes-256-gcm'
const VERSION = 1
const KEY_BYTES = 32
const KEY_ID_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PREFIX_BYTES = 1 + KEY_ID_BYTES
const HEAD_BYTES = PREFIX_BYTES + NONCE_BYTES

export class Sealing {
  readonly #key: KeyObject
  /** Version and key id: what each sealed body begins with. */
  readonly #prefix: Buffer

  /** @param key 32 bytes. */
  constructor(key: Uint8Array) {
    if (key.byteLength !== KEY_BYTES) throw new InvariantError(`a key of ${key.byteLength} bytes`)
    this.#key = createSecretKey(key)
    const id = createHmac('sha256', this.#key).update('fencegate-key-id').digest().subarray(0, KEY_ID_BYTES)
    this.#prefix = Buffer.concat([Buffer.of(VERSION), id])
  }

  /** @param operation the id of the operation whose answer it is. */
  seal(body: Uint8Array, operation: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(this.#bound(operation))
    const ciphertext = [cipher.update(body), cipher.final()]
    return Buffer.concat([this.#prefix, nonce, ...ciphertext, cipher.getAuthTag()])
  }

  /** The body; or why it can't be had: it was sealed with another key, or these are not the bytes that were sealed. */
  open(sealed: Uint8Array, operation: string): Buffer | 'other-key' | 'damaged' {
    if (sealed.byteLength < HEAD_BYTES + TAG_BYTES) return 'damaged'
    if (!this.#prefix.equals(sealed.subarray(0, PREFIX_BYTES))) return 'other-key'
    const nonce = sealed.subarray(PREFIX_BYTES, HEAD_BYTES)
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(this.#bound(operation)).setAuthTag(sealed.subarray(-TAG_BYTES))
    const body = decipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES))
    try {
      return Buffer.concat([body, decipher.final()])
    } catch {
      return 'damaged'
    }
  }

  /** What is authenticated beside the body. */
  #bound(operation: string): Buffer {
    return Buffer.concat([this.#prefix, Buffer.from(operation)])
  }
}
