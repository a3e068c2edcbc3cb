// Package wire is the codec of the Adjourn protocol, version 1: from requests to bytes, and from bytes to responses. The
// other direction, which tests need, is in package serverside.
//
// It does no I/O and reads no clock. The files that end in _gen.go have one function for each frame; they follow from the
// schema of the protocol. The decoder checks every length against what has arrived before it allocates, refuses what
// protocol.md calls MALFORMED, and skips what a newer peer adds: trailing fields, longer fixed parts of lists, unknown
// bits, attributes and opcodes.
package wire
