//! No request is answered with a message, or told an error, that the table of requests does not have for it.

use adjourn_protocol::{ErrorCode, PushResult, Response};

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
            _ => Vec::new(),
        };
        let opcode = request.opcode();
        let is_unasked = matches!(response, Response::Deliver(_) | Response::GoingAway { .. });
        if !is_unasked && !opcode.may_be_answered_with(response) {
            return Err(format!("{} is answered with {response:?}", opcode.name()));
        }
        match told.into_iter().find(|code| !opcode.may_be_told(*code)) {
            Some(code) => Err(format!("{} is told {}: {response:?}", opcode.name(), code.name())),
            None => Ok(()),
        }
    }
}
