//! No request is told an error that `protocol.md` does not list for it.

use adjourn::protocol::{ErrorCode, PushResult, Response};

use super::super::seen::{Seen, When};
use super::Invariant;

#[derive(Debug, Default)]
pub(super) struct Refusals;

impl Invariant for Refusals {
    fn name(&self) -> &'static str {
        "refusals"
    }

    fn see(&mut self, _when: When, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::Said { request: Some(request), response, .. } = seen else { return Ok(()) };
        let told: Vec<ErrorCode> = match response {
            Response::Error(error) => vec![error.code],
            Response::Pushed(results) => results
                .iter()
                .filter_map(|result| match result {
                    PushResult::Refused(code, _) => Some(*code),
                    _ => None,
                })
                .collect(),
            Response::Settled(results) => results.iter().filter_map(|result| result.err()).collect(),
            _ => return Ok(()),
        };
        let opcode = request.opcode();
        match told.into_iter().find(|code| !opcode.may_be_told(*code)) {
            Some(code) => Err(format!("{} is told {}: {response:?}", opcode.name(), code.name())),
            None => Ok(()),
        }
    }
}
