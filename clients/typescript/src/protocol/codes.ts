/** The error codes of the protocol. */

export const ERROR_CODES = {
  MALFORMED: 1,
  UNSUPPORTED: 2,
  TOO_LARGE: 3,
  UNAUTHORISED: 4,
  INVALID: 5,
  NOT_LEADER: 16,
  NO_LEADER: 17,
  BUSY: 18,
  DISK_FULL: 19,
  STOPPING: 20,
  UNREADABLE: 21,
  PAUSED: 32,
  QUOTA: 33,
  STALE_LEASE: 34,
  KEY_EXISTS: 35,
  NOT_FOUND: 36,
  RESERVED: 37,
  WRONG_STATE: 38,
  SESSION_UNKNOWN: 39,
  OUTCOME_UNKNOWN: 40,
  EXPIRES_BEFORE_DUE: 41,
  SEQUENCE_REUSED: 42,
  CHANGED: 43,
} as const;

export type ErrorCodeName = keyof typeof ERROR_CODES;

const NAMES = new Map<number, ErrorCodeName>(Object.entries(ERROR_CODES).map(([name, code]) => [code, name as ErrorCodeName]));
const RETRYABLE = new Set<ErrorCodeName>(['NOT_LEADER', 'NO_LEADER', 'BUSY', 'DISK_FULL', 'STOPPING', 'PAUSED']);

/** The name of a code; `undefined` for one of a newer server. */
export function codeName(code: number): ErrorCodeName | undefined {
  return NAMES.get(code);
}

/** Whether a request that was refused so may succeed later, as it is. */
export function isRetryable(name: ErrorCodeName): boolean {
  return RETRYABLE.has(name);
}
