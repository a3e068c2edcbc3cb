//! The engine alone: against a model, against scripts, and at its bounds.

pub(crate) mod bounds;
pub(crate) mod golden;
pub(crate) mod history;
pub(crate) mod model;
pub(crate) mod remembered;
pub(crate) mod shares;
