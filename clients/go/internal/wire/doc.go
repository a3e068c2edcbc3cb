// Package wire is the codec of the Adjourn protocol, version 1: every frame, in both directions, from and to bytes.
//
// It does no I/O and reads no clock. Each message has one method that names its fields in order; the same method
// encodes and decodes, so the two cannot differ. The decoder checks every length against what has arrived before it
// allocates, refuses what protocol.md calls MALFORMED, and skips what a newer peer adds: trailing fields, longer
// fixed parts of lists, unknown bits, attributes and opcodes.
package wire
