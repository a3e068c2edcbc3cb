// Connections that a test cuts, as a network does.

import { dialTcp } from '../../dist/esm/transport.js';

export function cuttable() {
  let last = null;
  return {
    dialer: async (address, signal) => (last = await dialTcp(address, signal)),
    cut: () => last.close(),
  };
}
