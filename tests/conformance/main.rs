//! Every client against the same scenarios: `conformance/README.md` says what that is.
//!
//! `cargo test --test conformance -- worker/` plays what has that in its name. `ADJOURN_CONFORMANCE=rust,python` takes only those
//! clients. With `ADJOURN_CONFORMANCE_TLS` set, everything speaks TLS.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

mod clients;
mod codec;
mod codec_checks;
mod fake;
mod harness;
mod matching;
mod nodes;
#[path = "../cluster/ports.rs"]
mod ports;
mod proxy;
#[path = "../cluster/rig.rs"]
#[expect(dead_code, reason = "other tests ask it for more")]
mod rig;
mod rust;
mod scenarios;
mod schema;
mod server_rig;
mod site;
mod soak;
mod stage;
mod tagged;
mod tls;
mod vectors;
mod wire;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use clients::Client;
use codec_checks::Check;
use scenarios::{LEVELS, Scenario};
use tls::Tls;

/// Scenarios that are played at the same time.
const AT_ONCE: usize = 6;

/// What came of a scenario: its name, and what went wrong.
type Outcome = (String, Result<(), String>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == clients::RUST_HARNESS) {
        rust::run();
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let mut failed = false;
    if is_wanted("vectors")
        && let Err(why) = vectors::check()
    {
        eprintln!("vectors: {why}");
        failed = true;
    }
    let scenarios: Vec<Scenario> = scenarios::read().into_iter().filter(|one| is_wanted(&one.name)).collect();
    let checks: Vec<_> = codec_checks::CHECKS.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    let soaks = is_wanted("soak");
    if scenarios.is_empty() && checks.is_empty() && !soaks {
        return if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let tls = Tls::new();
    let mut workers = Vec::new();
    for (number, found) in clients::find().into_iter().enumerate() {
        match found {
            Ok(client) => {
                if !scenarios.is_empty() || !checks.is_empty() {
                    failed |= !try_client(&client, number, &checks, &scenarios, &tls);
                }
                if client.supports("worker") && !client.skips.contains_key("soak") {
                    workers.push(client);
                }
            }
            Err((name, why)) if why.starts_with("skipped: ") => {
                println!("conformance of {name}: {why}");
                failed |= std::env::var_os("ADJOURN_SKIP_NOTHING").is_some();
            }
            Err((name, why)) => {
                eprintln!("conformance of {name}: the harness does not run: {why}");
                failed = true;
            }
        }
    }
    if soaks {
        failed |= !soak(&workers, tls.is_spoken(0).then_some(&tls));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The mixed soak; prints a line.
fn soak(workers: &[Client], tls: Option<&Tls>) -> bool {
    let clients: Vec<&Client> = workers.iter().collect();
    let names: Vec<&str> = workers.iter().map(|client| client.name.as_str()).collect();
    let mut report = String::new();
    let outcome = caught(|| soak::run(&clients, tls).map(|found| report = found));
    match outcome {
        Ok(()) => println!("soak with {}{}: {report}", names.join(", "), over(tls)),
        Err(why) => eprintln!("soak with {}{}: {why}", names.join(", "), over(tls)),
    }
    !report.is_empty()
}

/// Plays everything that a client supports; prints a line, and what failed.
fn try_client(client: &Client, number: usize, checks: &[Check], scenarios: &[Scenario], tls: &Tls) -> bool {
    let unsupported: Vec<&str> = LEVELS.into_iter().filter(|level| !client.supports(level)).collect();
    let mut outcomes: Vec<Outcome> = Vec::new();
    if client.supports("codec") {
        let checked = checks.iter().map(|(name, check)| ((*name).to_owned(), caught(|| check(client))));
        outcomes.extend(checked);
    }
    let queue =
        Mutex::new(scenarios.iter().zip(number..).filter(|(scenario, _)| client.supports(&scenario.level)));
    let played = Mutex::new(Vec::new());
    let shows_times = std::env::var_os("ADJOURN_CONFORMANCE_TIMES").is_some();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("whole").next();
                    let Some((scenario, turn)) = next else { return };
                    let begun = rig::now();
                    let outcome = caught(|| stage::play(client, scenario, tls, turn));
                    if shows_times {
                        println!("    {:>6} ms {}", begun.elapsed().as_millis(), scenario.name);
                    }
                    played.lock().expect("whole").push((scenario.name.clone(), outcome));
                }
            });
        }
    });
    outcomes.extend(played.into_inner().expect("whole"));
    report(client, &outcomes, &unsupported, tls.told())
}

fn report(client: &Client, outcomes: &[Outcome], unsupported: &[&str], over: &str) -> bool {
    let names: BTreeSet<&str> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
    let (mut passed, mut skipped, mut wrong) = (0, 0, Vec::new());
    for (name, outcome) in outcomes {
        match (outcome, client.skips.get(name)) {
            (Ok(()), None) => passed += 1,
            (Ok(()), Some(_)) => wrong.push(format!("{name} passes: take it off the client's list")),
            (Err(_), Some(reason)) => {
                skipped += 1;
                println!("    {name} is skipped: {reason}");
            }
            (Err(why), None) => wrong.push(format!("{name}: {why}")),
        }
    }
    let all: BTreeSet<String> = scenarios::read().into_iter().map(|one| one.name).collect();
    let is_known = |name: &str| {
        names.contains(name)
            || all.contains(name)
            || codec_checks::CHECKS.iter().any(|(check, _)| *check == name)
    };
    let strange = client.skips.keys().filter(|name| !is_known(name));
    wrong.extend(strange.map(|name| format!("{name} is skipped, and there is no such scenario")));
    let levels = match unsupported {
        [] => String::new(),
        some => format!(", not supported: {}", some.join(", ")),
    };
    let version = client.about["client"].as_str().unwrap_or_default();
    println!(
        "conformance of {} ({version}){over}: {passed} passed, {skipped} skipped, {} failed{levels}",
        client.name,
        wrong.len()
    );
    for why in &wrong {
        eprintln!("  {why}");
    }
    wrong.is_empty()
}

/// What a line of the report says of TLS.
fn over(tls: Option<&Tls>) -> &'static str {
    tls.map_or("", |_| " over TLS")
}

/// A panic is a failure like any other.
fn caught(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned())
    })
}
