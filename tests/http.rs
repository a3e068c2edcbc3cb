//! HTTP, as programs without a client library speak it.

mod again;
mod api;
mod beanstalkd;
mod connections;
mod console;
mod cors;
mod dialects;
mod document;
mod events;
mod examples;
mod groups;
mod hostile;
mod methods;
mod mistakes;
mod php_delayqueue;
mod rig;
mod schedules;
mod test_clock;
mod tokens;
mod watch;

pub(crate) use examples::type_all;
pub(crate) use rig::{Site, Web};
pub(crate) use tokens::tokens_in;
