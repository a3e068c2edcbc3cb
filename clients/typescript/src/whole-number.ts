/**
 * Whole numbers, as callers give them. What the protocol carries in 64 bits is a `bigint` when it comes back: a `number`
 * would silently round it above 2^53.
 */

import { UsageError } from './errors.js';

const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** A count of 32 bits, at least 1. */
export function wholeNumber(name: string, value: number, max = 0xffff_ffff): number {
  if (!Number.isInteger(value) || value < 1 || value > max) throw new UsageError(`${name} is ${value}, it must be a whole number from 1 to ${max}`);
  return value;
}

/** A number of 64 bits: a `bigint`, or a `number` as long as that is exact. */
export function wideNumber(name: string, value: number | bigint): bigint {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    throw new UsageError(`${name} is ${value}: give a whole number, and one above ${Number.MAX_SAFE_INTEGER} as a bigint`);
  }
  if (value < 0 || value > U64_MAX) throw new UsageError(`${name} is ${value}, it must be 0 to ${U64_MAX}`);
  return BigInt(value);
}
