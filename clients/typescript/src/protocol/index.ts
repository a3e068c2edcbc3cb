/**
 * The codec of protocol version 1: every frame, in both directions, without any input or output; and the tables of the
 * protocol. For tools and tests; programs use the client.
 */

export { DecodeError, type Element } from './bytes.js';
export * from './choices.js';
export { ERROR_CODES, codeName, isRetryable, type ErrorCodeName } from './codes.js';
export { decodeAttributes, decodeFilter, decodeSettings, encodeAttributes, encodeFilter, encodeSettings } from './elements.js';
export { FrameError, FrameSplitter, type Frame } from './frame.js';
export * from './limits.js';
export * from './messages.js';
export { encodeRequest } from './requests.js';
export { decodeResponse } from './responses.js';
export { decodeRequest, encodeResponse } from './server.js';
