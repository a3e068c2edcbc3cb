//! Where groups give one job at a time: while a job that was delivered once has not ended, its group gives no other one. It may wait
//! for its next attempt, or to be kicked; it comes again before those that were never delivered.
//!
//! A buried job blocks its group only if the topic says so. One that did not, and was kicked later, comes before the others, too.

use adjourn_engine::JobEventKind;

use super::super::super::clients::{IN_ORDER, NO_GROUP};
use super::Rule;
use super::book::{Book, State};
use super::log::Event;

#[derive(Debug)]
pub(super) struct InOrder;

impl Rule for InOrder {
    const NAME: &'static str = "group order";

    fn before(&mut self, event: &Event, book: &Book) -> Result<(), String> {
        let Some(given) = book.job(event.job) else { return Ok(()) };
        let (topic, group) = given.group;
        if event.kind != JobEventKind::Reserved || topic != IN_ORDER || group == NO_GROUP {
            return Ok(());
        }
        let others = book.jobs_of(given.group).filter(|(id, job)| *id != event.job && job.holds_place);
        for (id, other) in others {
            let blocks = match other.state {
                State::Reserved | State::Delayed => true,
                State::Ready => !given.holds_place,
                State::Buried => book.buried_blocks(),
            };
            if blocks {
                return Err(format!("{group} gave job {} while {id} is {:?}", event.job, other.state));
            }
        }
        Ok(())
    }
}
