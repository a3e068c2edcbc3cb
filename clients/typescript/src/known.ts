/**
 * Options by their names. One that this client does not know would be lost without a word, and with it what the caller
 * wanted: it is an error that says what to write.
 */

import { UsageError } from './errors.js';

/** Shorter names are like too many others. */
const LIKE_MIN = 4;

type KeysOf<T> = T extends unknown ? keyof T : never;
/** The names of the options of a type, all of them. */
export type Names<T> = Readonly<Record<KeysOf<T>, unknown>>;

/** The options, if all of them are known. `what` has them: "a job", for example; `hint` says what else may have been meant. */
export function onlyKnown<T extends object>(what: string, given: T, names: Names<T>, hint = ''): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new UsageError(`the options of ${what} are an object${hint}`);
  for (const name in given) if (!Object.hasOwn(names, name)) throw unknown(what, name, Object.keys(names), hint);
  return given;
}

function unknown(what: string, name: string, names: string[], hint: string): UsageError {
  const given = name.toLowerCase();
  const starts = (long: string, short: string) => short.length >= LIKE_MIN && long.toLowerCase().startsWith(short.toLowerCase());
  const like = names.find((one) => starts(one, given)) ?? names.find((one) => starts(given, one));
  return new UsageError(`${what} has no option "${name}": ${like ? `write ${like}` : `there are ${names.join(', ')}`}${hint}`);
}
