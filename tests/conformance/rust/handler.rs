//! The handler whose job says what it does.

use std::future::pending;
use std::time::Duration;

use adjourn_client::{Cancellation, Cancelled};
use adjourn_protocol::Delivered;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::say;
use super::shown::delivered_json;

/// Says how a handler ended, also if it is dropped.
struct Ending {
    worker: String,
    job: String,
    fence: String,
    told: Cancellation,
    is_said: bool,
}

pub(super) async fn handle(worker: String, job: Delivered, told: Cancellation) -> Result<(), String> {
    let script: Value = serde_json::from_slice(&job.body).unwrap_or_default();
    let attempts = job.attempts;
    let (id, fence) = (job.lease.job.0.to_string(), job.lease.fence.0.to_string());
    let mut started = delivered_json(job).expect("a delivered job");
    started["event"] = json!("started");
    started["worker"] = json!(worker);
    say(&started);
    let mut ending = Ending { worker, job: id, fence, told: told.clone(), is_said: false };
    let outcome = work(&script, attempts, &told).await;
    ending.say(&outcome);
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Failed(reason) => Err(reason),
        Outcome::Cancelled(why) => Err(why.to_string()),
    }
}

enum Outcome {
    Done,
    Failed(String),
    Cancelled(Cancelled),
}

async fn work(script: &Value, attempts: u32, told: &Cancellation) -> Outcome {
    let wait = if script["hang"] == true { Some(u64::MAX >> 16) } else { script["after_ms"].as_u64() };
    if let Some(wait) = wait.map(Duration::from_millis) {
        let begun = Instant::now();
        match timeout(wait, told.cancelled()).await {
            // It may come to its end. If that is too late, it is dropped.
            Ok(Cancelled::WorkerStops) => {
                let _ = timeout(wait.saturating_sub(begun.elapsed()), pending::<()>()).await;
            }
            Ok(why) => return Outcome::Cancelled(why),
            Err(_) => {}
        }
    }
    match script["fail"].as_str() {
        Some(reason) if script["until"].as_u64().is_none_or(|until| u64::from(attempts) <= until) => {
            Outcome::Failed(reason.to_owned())
        }
        _ => Outcome::Done,
    }
}

impl Ending {
    fn say(&mut self, outcome: &Outcome) {
        self.is_said = true;
        let mut event =
            json!({ "event": "ended", "worker": self.worker, "job": self.job, "fence": self.fence });
        match outcome {
            Outcome::Done => event["result"] = json!("ok"),
            Outcome::Failed(reason) => {
                event["result"] = json!("failed");
                event["reason"] = json!(reason);
            }
            Outcome::Cancelled(why) => {
                event["result"] = json!("cancelled");
                event["reason"] = json!(match why {
                    Cancelled::ConnectionLost => "presumed_lost",
                    Cancelled::LeaseLost => "lease_lost",
                    Cancelled::TimeOver => "time_over",
                    _ => "stopping",
                });
            }
        }
        say(&event);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.is_said {
            let why = self.told.why().unwrap_or(Cancelled::WorkerStops);
            self.say(&Outcome::Cancelled(why));
        }
    }
}
