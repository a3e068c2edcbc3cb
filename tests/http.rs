//! HTTP, as programs without a client library speak it.

mod api;
mod document;
mod hostile;
mod rig;
mod tokens;
