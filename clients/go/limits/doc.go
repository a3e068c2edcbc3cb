// Package limits has the limits of an Adjourn queue, as protocol.md lists them.
package limits
