//! What must hold in every run, whatever goes wrong: a file for each.
//!
//! An invariant sees what can be seen from outside of a node, and keeps books of its own. It never asks the code under
//! test what is right.

mod acknowledged;
mod checkpoints;
mod ended;
mod hardly_late;
mod lapse;
mod never_early;
mod one_lease;
mod order;
mod progress;
mod pushed_once;
mod same_log;
mod settled_once;
mod silence;

use adjourn::protocol::{Delivered, Response};

use super::plan::Plan;
use super::seen::{Seen, When};
use super::time::Us;

/// Something that must hold.
pub(super) trait Invariant {
    fn name(&self) -> &'static str;

    /// Takes notice; says what is wrong if it no longer holds.
    fn see(&mut self, when: When, seen: &Seen<'_>) -> Result<(), String>;
}

/// All of them.
pub(super) fn all(plan: &Plan) -> Vec<Box<dyn Invariant + Send>> {
    let mut all: Vec<Box<dyn Invariant + Send>> = vec![
        Box::new(acknowledged::Acknowledged::default()),
        Box::new(checkpoints::Checkpoints::default()),
        Box::new(ended::Ended::default()),
        Box::new(lapse::Lapse::default()),
        Box::new(never_early::NeverEarly::default()),
        Box::new(one_lease::OneLease::default()),
        Box::new(order::Order::new(plan.every_us.step == 0)),
        Box::new(progress::Progress::default()),
        Box::new(pushed_once::PushedOnce::default()),
        Box::new(same_log::SameLog::default()),
        Box::new(settled_once::SettledOnce::default()),
        Box::new(silence::Silence::default()),
    ];
    if plan.calm {
        all.push(Box::new(hardly_late::HardlyLate::new(plan.checkpoint_log_bytes)));
    }
    all
}

/// The jobs that an answer delivers.
fn delivered(response: &Response) -> &[Delivered] {
    match response {
        Response::Reserved(jobs) | Response::Deliver(jobs) => jobs,
        _ => &[],
    }
}

/// How far the stamp may have jumped ahead of true time, and when.
#[derive(Debug, Default)]
struct Jumps(Vec<(Us, Us)>);

impl Jumps {
    fn see(&mut self, when: When, seen: &Seen<'_>) {
        if let Seen::Started { jumped_us, .. } = seen
            && *jumped_us > 0
        {
            self.0.push((when.at, *jumped_us));
        }
    }

    /// How much longer than in true time it may be, by the stamp, since then: the jumps, and what the stamp is slewed by.
    fn ahead_since(&self, since: Us, now: Us) -> Us {
        let jumped: Us = self.0.iter().filter(|(at, _)| *at >= since).map(|(_, jumped_us)| *jumped_us).sum();
        jumped + now.saturating_sub(since) / 2000 + 1
    }
}
