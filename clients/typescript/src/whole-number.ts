/** Counts, as callers give them. */

import { UsageError } from './errors.js';

export function wholeNumber(name: string, value: number, max = 0xffff_ffff): number {
  if (!Number.isInteger(value) || value < 1 || value > max) throw new UsageError(`${name} is ${value}, it must be a whole number from 1 to ${max}`);
  return value;
}
