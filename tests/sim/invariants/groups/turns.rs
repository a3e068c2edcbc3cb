//! No group waits for more than its share. While a group could give a job all the time, another one gives, before it, at most as many
//! jobs as that one's weight, not counting those that it gives while it has fewer leases for its weight.
//!
//! So with n groups of weight w that have equally many leases, a group that may give a job is passed over at most (n - 1) w times. The
//! count begins anew when settings of the topic change, and it is not kept while groups of the topic have a rate.

use std::collections::BTreeMap;

use adjourn_engine::JobEventKind;

use super::super::super::clients::{GROUP_LEASES_MAX, IN_ORDER, LIMITED, NO_GROUP};
use super::Rule;
use super::book::{Book, GroupKey, State};
use super::log::Event;

#[derive(Debug, Default)]
pub(super) struct Turns {
    /// How many jobs each other group gave, while a group could have given one.
    passed_by: BTreeMap<GroupKey, BTreeMap<&'static str, u32>>,
}

fn load(book: &Book, group: GroupKey) -> u32 {
    book.count(group, State::Reserved) / book.weight(group)
}

/// Whether nothing holds a group back that has a ready job. A rate might.
fn can_give(book: &Book, group: GroupKey) -> bool {
    if book.is_paused(group) || book.count(group, State::Ready) == 0 {
        return false;
    }
    let held = |state| book.jobs_of(group).any(|(_, job)| job.holds_place && job.state == state);
    match group.0 {
        _ if group.1 == NO_GROUP => true,
        LIMITED => book.count(group, State::Reserved) < GROUP_LEASES_MAX && book.rate().is_none(),
        IN_ORDER => {
            let buried = book.buried_blocks() && held(State::Buried);
            !held(State::Reserved) && !held(State::Delayed) && !buried
        }
        _ => true,
    }
}

impl Rule for Turns {
    const NAME: &'static str = "group turns";

    fn begin(&mut self, book: &Book) {
        self.passed_by.retain(|group, _| !book.is_changed(group.0));
    }

    fn before(&mut self, event: &Event, book: &Book) -> Result<(), String> {
        let Some((topic, gives)) = book.job(event.job).map(|job| job.group) else { return Ok(()) };
        if event.kind != JobEventKind::Reserved || book.is_changed(topic) {
            return Ok(());
        }
        let (load_then, weight) = (load(book, (topic, gives)), book.weight((topic, gives)));
        for other in book.groups_of(topic).into_iter().filter(|other| *other != gives) {
            let waits = (topic, other);
            if load(book, waits) > load_then || !can_give(book, waits) {
                continue;
            }
            let passed = self.passed_by.entry(waits).or_default().entry(gives).or_default();
            *passed += 1;
            if *passed > weight {
                return Err(format!("{waits:?} could give a job, and {gives} gave {passed} before it"));
            }
        }
        self.passed_by.remove(&(topic, gives));
        Ok(())
    }

    fn after(&mut self, event: &Event, book: &Book) {
        // The book does not know the group of a job that has ended: then each group is looked at.
        let group = book.job(event.job).map(|job| job.group);
        let is_unchanged = |waits: GroupKey| group.is_some_and(|group| group != waits);
        self.passed_by.retain(|waits, _| is_unchanged(*waits) || can_give(book, *waits));
    }
}
