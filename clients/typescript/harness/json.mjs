// Values of the codec as the neutral JSON of the conformance suite, and back.

const BYTES = new Set(['secret', 'token', 'cursor', 'cluster_id', 'body', 'data', 'key_prefix', 'schedule_reference']);
const TEXTS = new Set([
  'topic',
  'topics',
  'key',
  'reason',
  'message',
  'leader',
  'server_name',
  'client_name',
  'address',
  'peer_address',
  'client_address',
  'fairness_key',
  'dead_letters',
  'to',
  'stage',
  'headers',
]);

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

export const base64 = (bytes) => Buffer.from(bytes).toString('base64');
export const fromBase64 = (text) => Uint8Array.from(Buffer.from(text, 'base64'));

/** A value of the codec in JSON. */
export function toJson(value) {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return base64(value);
  if (Array.isArray(value)) return value.map(toJson);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([name, one]) => [snake(name), toJson(one)]));
}

/** JSON as a value of the codec. A text that is neither bytes nor a text by its name is a number of 64 bits or more. */
export function fromJson(value, name = '', parent = '') {
  if (Array.isArray(value)) return value.map((one) => fromJson(one, name, name));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [camel(key), fromJson(one, key, name)]));
  }
  if (typeof value !== 'string' || TEXTS.has(name)) return value;
  if (BYTES.has(name) || (name === 'value' && parent === 'unknown')) return fromBase64(value);
  return BigInt(value);
}

/** The fields of a message: a reference to a job, and the parts of JOB, stand among the others. */
export function fieldsToJson({ reference, shown, magic, ...fields }) {
  return toJson({ ...reference, ...shown, ...fields });
}

const SHOWN = ['job', 'dueMs', 'state', 'buried', 'priority', 'attempts', 'ttrMs', 'ttrLeftMs', 'topic', 'key', 'attributes', 'body'];
const WITH_REFERENCE = new Set(['GET', 'DELETE', 'RESCHEDULE', 'RUN_NOW', 'KICK']);

export function fieldsFromJson(opcode, json) {
  const fields = fromJson(json);
  if (WITH_REFERENCE.has(opcode)) {
    const { jobKind, job, topic, key, ...rest } = fields;
    return { ...rest, reference: jobKind === 0 ? { jobKind, job } : { jobKind, topic, key } };
  }
  if (opcode !== 'JOB') return fields;
  const isShown = ([name]) => SHOWN.includes(name);
  const entries = Object.entries(fields);
  return { ...Object.fromEntries(entries.filter((entry) => !isShown(entry))), shown: Object.fromEntries(entries.filter(isShown)) };
}
