//! A group's limits: never more leases at once than its topic allows a group, no more deliveries than its rate allows, and none while
//! it is paused.
//!
//! A lease counts until the state says that it is over: by its client, by time, or with its session.

use std::collections::BTreeMap;

use adjourn_engine::JobEventKind;
use adjourn_types::Millis;

use super::super::super::clients::{GROUP_LEASES_MAX, LIMITED, NO_GROUP};
use super::Rule;
use super::book::{Book, GroupKey, Rate, State};
use super::log::Event;

/// Deliveries that are compared with the next one.
const COMPARED_MAX: usize = 30;

#[derive(Debug, Default)]
pub(super) struct Limits {
    /// When each group's last jobs were delivered, since the last change of the topic's settings.
    delivered: BTreeMap<GroupKey, Vec<Millis>>,
}

impl Limits {
    fn keeps_rate(&mut self, event: &Event, group: GroupKey, rate: Rate) -> Result<(), String> {
        let delivered = self.delivered.entry(group).or_default();
        delivered.push(event.stamp);
        let burst = u64::from(rate.burst.unwrap_or(rate.per_second / 10).max(1));
        for (later, since) in delivered.iter().rev().enumerate() {
            let passed_ms = event.stamp.since(*since);
            let allowed = burst + passed_ms * u64::from(rate.per_second) / 1000;
            if later as u64 + 1 > allowed {
                return Err(format!("{group:?} gave {} jobs in {passed_ms} ms, at {rate:?}", later + 1));
            }
        }
        if delivered.len() > COMPARED_MAX {
            delivered.remove(0);
        }
        Ok(())
    }
}

impl Rule for Limits {
    const NAME: &'static str = "group limits";

    fn begin(&mut self, book: &Book) {
        if book.is_changed(LIMITED) {
            self.delivered.clear();
        }
    }

    fn before(&mut self, event: &Event, book: &Book) -> Result<(), String> {
        let Some(group) = book.job(event.job).map(|job| job.group) else { return Ok(()) };
        if event.kind != JobEventKind::Reserved || group.1 == NO_GROUP {
            return Ok(());
        }
        if book.is_paused(group) && !book.is_changed(group.0) {
            return Err(format!("{group:?} is paused, and gave job {}", event.job));
        }
        if group.0 != LIMITED {
            return Ok(());
        }
        let reserved = book.count(group, State::Reserved);
        if reserved >= GROUP_LEASES_MAX {
            return Err(format!("{group:?} has {reserved} leases, and gave job {}", event.job));
        }
        match book.rate().filter(|_| !book.is_changed(LIMITED)) {
            Some(rate) => self.keeps_rate(event, group, rate),
            None => Ok(()),
        }
    }
}
