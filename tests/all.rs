//! The one integration-test binary: linking once keeps the build short.
