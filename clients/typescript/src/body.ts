/**
 * Bodies of jobs. Bytes go as they are, a text as UTF-8, everything else as JSON; the header `content-type` says which,
 * so that a consumer in any language can read it.
 */

import { UsageError } from './errors.js';
import { utf8 } from './protocol/bytes.js';

export const CONTENT_TYPE = 'content-type';
export const JSON_TYPE = 'application/json';
export const TEXT_TYPE = 'text/plain; charset=utf-8';

export interface EncodedBody {
  readonly bytes: Uint8Array;
  /** `null` for bytes that the caller encoded. */
  readonly contentType: string | null;
}

export function encodeBody(value: unknown): EncodedBody {
  if (value === undefined) return { bytes: new Uint8Array(0), contentType: null };
  if (value instanceof Uint8Array) return { bytes: value, contentType: null };
  if (value instanceof ArrayBuffer) return { bytes: new Uint8Array(value), contentType: null };
  if (typeof value === 'string') return { bytes: utf8(value), contentType: TEXT_TYPE };
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw new UsageError(`the body cannot be written as JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (json === undefined) throw new UsageError(`a ${typeof value} cannot be written as JSON`);
  return { bytes: utf8(json), contentType: JSON_TYPE };
}

/** A body that is not what its content type says. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new BodyError('the body is not UTF-8', { cause });
  }
}

export function decodeJson(bytes: Uint8Array): unknown {
  const text = decodeText(bytes);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BodyError('the body is not JSON', { cause });
  }
}

/** What the content type says: a value of JSON, a text, or the bytes. */
export function decodeBody(bytes: Uint8Array, contentType: string | undefined): unknown {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === JSON_TYPE || type.endsWith('+json')) return decodeJson(bytes);
  return type.startsWith('text/') ? decodeText(bytes) : bytes;
}
