/**
 * The path of the server's binary for this platform.
 *
 * @throws if there is no package for this platform, or it is not installed
 */
export function binaryPath(): string;
