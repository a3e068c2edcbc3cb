"""The frames of the protocol: pure functions of bytes, without input or output."""
