"""The harness of the conformance suite."""
