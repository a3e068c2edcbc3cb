/** What handlers throw: anything, also what has no text, or cannot even be asked whether it is an error. */

const WITHOUT_TEXT = 'the handler failed without a text';

export function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error);
  } catch {
    return WITHOUT_TEXT;
  }
}

/** What a handler threw, or an error in place of what cannot even be asked whether it is one. */
export function sound(error: unknown): unknown {
  try {
    void (error instanceof Error);
    return error;
  } catch {
    return new Error(WITHOUT_TEXT);
  }
}
