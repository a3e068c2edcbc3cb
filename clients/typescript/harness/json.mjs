// Values of the codec as the neutral JSON of the conformance suite, and back: `to` JSON, and `from` it. What is absent there is 0 or empty.

export const base64 = (bytes) => Buffer.from(bytes).toString('base64');
export const fromBase64 = (text) => Uint8Array.from(Buffer.from(text, 'base64'));

const same = (value) => value;
const kind = (to, from) => ({ to, from });

export const NUMBER = kind(same, (json = 0) => json);
export const WIDE = kind(String, (json = '0') => BigInt(json));
export const TEXT = kind(same, (json = '') => json);
export const TEXTS = kind(same, (json = []) => json);
export const FLAG = kind(same, same);
export const BYTES = kind(base64, (json = '') => fromBase64(json));
export const ID = kind(base64, (json) => (json === undefined ? new Uint8Array(16) : fromBase64(json)));
/** Its fields stand among those of the frame. */
export const REFERENCE = kind(
  ({ jobKind, job, topic, key }) => (jobKind === 0 ? { job_kind: jobKind, job: String(job) } : { job_kind: jobKind, topic, key }),
  ({ job_kind: jobKind = 0, job = '0', topic, key }) => (jobKind === 0 ? { jobKind, job: BigInt(job) } : { jobKind, topic, key }),
);

export const list = (of) => kind((items) => items.map(of.to), (json = []) => json.map((item) => of.from(item)));

/** Fields: each is `[name in JSON, name, kind]`. */
export const object = (rows) =>
  kind(
    (value) => Object.fromEntries(rows.map(([name, own, of]) => [name, of.to(value[own])])),
    (json = {}) => Object.fromEntries(rows.map(([name, own, of]) => [own, of.from(json[name])])),
  );

export const pair = (rows) => kind((values) => values.map((value, at) => rows[at][2].to(value)), (json) => json.map((value, at) => rows[at][2].from(value)));

/** The fields of a frame. */
export const fields = (rows) => {
  const isPlain = ([, , of]) => of !== REFERENCE;
  const plain = object(rows.filter(isPlain));
  if (rows.every(isPlain)) return plain;
  return kind((value) => ({ ...REFERENCE.to(value.reference), ...plain.to(value) }), (json) => ({ ...plain.from(json), reference: REFERENCE.from(json) }));
};

/** Tagged elements: those that are not there are left out, and `null` stays what it is. */
export const elements = (rows) => {
  const those = (from, to, map) => {
    const there = rows.filter((row) => from[row[to ? 1 : 0]] !== undefined);
    return Object.fromEntries(there.map((row) => [row[to ? 0 : 1], map(row[2], from[row[to ? 1 : 0]])]));
  };
  return kind(
    (value) => those(value, true, (of, one) => (one === null ? null : of.to(one))),
    (json = {}) => those(json, false, (of, one) => (one === null ? null : of.from(one))),
  );
};
