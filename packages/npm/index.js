'use strict';

/**
 * The path of the server's binary for this platform.
 *
 * @returns {string}
 * @throws {Error} if there is no package for this platform, or it is not installed
 */
function binaryPath() {
  const name = `adjourn-server-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/adjourn`);
  } catch {
    throw new Error(`${name} is not installed: install it beside adjourn-server, or build the server and set ADJOURN_BIN to its path`);
  }
}

module.exports = { binaryPath };
