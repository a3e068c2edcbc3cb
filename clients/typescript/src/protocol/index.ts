/**
 * The codec of protocol version 1: every frame, in both directions, without any input or output. For tools and tests;
 * programs use the client.
 */

export { DecodeError } from './bytes.js';
export { ERROR_CODES, codeName, isRetryable, type ErrorCodeName } from './codes.js';
export { decodeAttributes, encodeAttributes, type Attributes, type BackoffValue } from './attributes.js';
export { decodeFilter, encodeFilter, type FilterValue } from './filter.js';
export { decodeSettings, encodeSettings, type LateValue, type Settings, type SettingsChange } from './policy.js';
export {
  FrameError,
  FrameSplitter,
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  type Frame,
} from './frame.js';
export {
  REQUESTS,
  RESPONSES,
  type JobReference,
  type Request,
  type RequestFields,
  type RequestName,
  type Response,
  type ResponseFields,
  type ResponseName,
} from './messages.js';
