//! The harness of the Rust client: commands on stdin, answers and events on stdout.

mod groups;
mod handler;
mod operator;
mod schedules;
mod shown;

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjourn_client::{Client, ClientConfig, ClientError, Subscription, Worker, WorkerConfig};
use adjourn_generate::Side;
use adjourn_protocol::{Count, Delivered, DueBar, ReleaseKind, Request, Response};
use adjourn_types::Lease;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::codec;
use super::wire::{base64_of, bytes_of};
use shown::{Failure, client_failure, delivered_json, report_json, request_of, results_json};

/// How long handlers may take when the process is asked to end.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Harness {
    clients: Mutex<BTreeMap<String, Client>>,
    subscriptions: Mutex<BTreeMap<String, Arc<AsyncMutex<Subscription>>>>,
    workers: Mutex<BTreeMap<String, Worker>>,
    /// The commands under way, by their ids.
    calls: Mutex<BTreeMap<u64, Call>>,
}

/// A command that can be given up.
struct Call {
    give_up: oneshot::Sender<()>,
    /// Ends when the command was answered.
    answered: oneshot::Receiver<()>,
}

/// Runs until stdin ends, or SIGTERM comes.
pub(crate) fn run() {
    // One thread: commands begin in the order of their lines.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let local = LocalSet::new();
    runtime.block_on(local.run_until(serve()));
    // Whatever still waits ends with the process.
    std::process::exit(0);
}

async fn serve() {
    let harness = Rc::new(Harness::default());
    let mut terminated = signal(SignalKind::terminate()).expect("signals");
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    loop {
        tokio::select! {
            line = lines.recv() => {
                let Some(line) = line else { return };
                let command: Value = serde_json::from_str(&line).expect("a JSON object a line");
                tokio::task::spawn_local(Rc::clone(&harness).answer(command));
            }
            _ = terminated.recv() => return harness.end().await,
        }
    }
}

/// Writes one line.
fn say(value: &Value) {
    let mut out = std::io::stdout().lock();
    // The runner may be gone.
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

impl Harness {
    /// Carries a command out and answers it. A command that is given up is dropped, as a program does it.
    fn answer(self: Rc<Self>, command: Value) -> impl Future<Output = ()> {
        let id = command["id"].as_u64().unwrap_or_default();
        let (give_up, drops) = oneshot::channel();
        let (told, answered) = oneshot::channel();
        // Before the next line is read: it may give this one up.
        self.calls.lock().expect("whole").insert(id, Call { give_up, answered });
        async move {
            let outcome = tokio::select! {
                biased;
                outcome = self.obey(&command) => outcome,
                Ok(()) = drops => Err(shown::cancelled()),
            };
            let mut answer = match outcome {
                Ok(value) => json!({ "ok": value }),
                Err(failure) => json!({ "error": failure }),
            };
            answer["id"] = json!(id);
            say(&answer);
            self.calls.lock().expect("whole").remove(&id);
            drop(told);
        }
    }

    async fn obey(&self, command: &Value) -> Result<Value, Failure> {
        match text(command, "do") {
            "about" => Ok(json!({
                "client": format!("adjourn {}", env!("CARGO_PKG_VERSION")),
                "levels": ["codec", "producer", "consumer", "worker", "operator", "cluster"],
                "codec": ["encode_request", "decode_response", "decode_request", "encode_response"],
            })),
            "encode" => {
                let bytes = codec::encode(side(command), &command["frame"]).map_err(shown::refused)?;
                Ok(json!({ "bytes": base64_of(&bytes) }))
            }
            "decode" => {
                let bytes = bytes_of(&command["bytes"]).map_err(shown::usage)?;
                let frame = codec::decode(side(command), &bytes).map_err(shown::refused)?;
                Ok(json!({ "frame": frame }))
            }
            "connect" => self.connect(command).await,
            "next" => self.next(command).await,
            "unsubscribe" => {
                self.subscriptions.lock().expect("whole").remove(text(command, "subscription"));
                Ok(json!({}))
            }
            "worker_stop" => self.worker_stop(command).await,
            "health" => self.health(command),
            "cancel" => self.cancel(command).await,
            "close" => {
                let client = self.client(command)?;
                match client.close().await {
                    Ok(()) | Err(ClientError::Closed) => Ok(json!({})),
                    Err(error) => Err(client_failure(&error)),
                }
            }
            _ => {
                let client = self.client(command)?;
                self.with_client(client, command).await
            }
        }
    }

    async fn with_client(&self, client: Client, command: &Value) -> Result<Value, Failure> {
        match text(command, "do") {
            "push" => {
                let Request::Push(push) = request_of("PUSH", &shown::push_fields(command))? else {
                    return Err(shown::usage("a push"));
                };
                let ticket = client.push_detached(&push.topic, push.jobs);
                let results = ticket.map_err(|error| client_failure(&error))?.await;
                results_json(&Response::Pushed(results.map_err(|error| client_failure(&error))?))
            }
            "get" => {
                let Request::Get(job) = request_of("GET", &shown::reference(command))? else {
                    return Err(shown::usage("a job"));
                };
                let report = client.get(job).await.map_err(|error| client_failure(&error))?;
                let report = report.ok_or_else(shown::not_found)?;
                Ok(json!({ "job": report_json(report)? }))
            }
            "delete" => {
                let Request::Delete(job) = request_of("DELETE", &shown::reference(command))? else {
                    return Err(shown::usage("a job"));
                };
                let changed = client.delete(job).await.map_err(|error| client_failure(&error))?;
                Ok(json!({ "job": changed.job.0.to_string() }))
            }
            "list" => list(&client, command).await,
            "count" => count(&client, command).await,
            "reserve" => {
                let Request::Reserve(reserve) = request_of("RESERVE", &with_default(command, "jobs_max", 1))?
                else {
                    return Err(shown::usage("topics"));
                };
                let jobs = client.reserve(reserve).await.map_err(|error| client_failure(&error))?;
                let jobs: Result<Vec<Value>, _> = jobs.into_iter().map(delivered_json).collect();
                Ok(json!({ "jobs": jobs? }))
            }
            "finish" | "release" | "touch" | "bury" => settle(&client, command).await,
            "subscribe" => {
                let command = &with_default(command, "credit_bytes", 1 << 20);
                let Request::Subscribe(subscribe) = request_of("SUBSCRIBE", command)? else {
                    return Err(shown::usage("topics"));
                };
                let subscription =
                    client.subscribe(subscribe).await.map_err(|error| client_failure(&error))?;
                let subscription = Arc::new(AsyncMutex::new(subscription));
                let name = text(command, "subscription").to_owned();
                self.subscriptions.lock().expect("whole").insert(name, subscription);
                Ok(json!({}))
            }
            "worker_start" => self.worker_start(client, command).await,
            _ => operator::obey(&client, command).await,
        }
    }

    /// Gives a command up, and waits until it was answered. Once it was, there is nothing to give up.
    async fn cancel(&self, command: &Value) -> Result<Value, Failure> {
        let id = command["command"].as_u64().ok_or_else(|| shown::usage("the id of a command"))?;
        let call = self.calls.lock().expect("whole").remove(&id);
        if let Some(Call { give_up, answered }) = call {
            let _ = give_up.send(());
            let _ = answered.await;
        }
        Ok(json!({}))
    }

    fn client(&self, command: &Value) -> Result<Client, Failure> {
        let clients = self.clients.lock().expect("whole");
        clients.get(text(command, "client")).cloned().ok_or_else(|| shown::usage("no such client"))
    }

    async fn connect(&self, command: &Value) -> Result<Value, Failure> {
        let addresses = command["addresses"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut config = ClientConfig::new(addresses.collect::<Vec<_>>().join(","));
        config.token = bytes_of(&command["token"]).map_err(shown::usage)?.into();
        config.leases_outlive = command["leases_outlive"] == true;
        config.without_session = command["session"] == false;
        let file = |name: &str| command["tls"][name].as_str().map(PathBuf::from);
        (config.tls.ca, config.tls.certificate, config.tls.key) =
            (file("ca"), file("certificate"), file("key"));
        let number = |name: &str| command[name].as_u64();
        config.heartbeat_ms =
            number("heartbeat_ms").and_then(|ms| u32::try_from(ms).ok()).unwrap_or_default();
        config.request_timeout_ms = number("request_timeout_ms").unwrap_or(config.request_timeout_ms);
        config.connect_timeout_ms = number("connect_timeout_ms").unwrap_or(config.connect_timeout_ms);
        if let Some(name) = command["name"].as_str() {
            name.clone_into(&mut config.name);
        }
        let client = Client::connect(config).await.map_err(|error| client_failure(&error))?;
        self.clients.lock().expect("whole").insert(text(command, "client").to_owned(), client);
        Ok(json!({}))
    }

    async fn next(&self, command: &Value) -> Result<Value, Failure> {
        let name = text(command, "subscription");
        let found = self.subscriptions.lock().expect("whole").get(name).cloned();
        let found = found.ok_or_else(|| shown::usage("no such subscription"))?;
        let wait = Duration::from_millis(number(command, "wait_ms"));
        let mut subscription = found.lock().await;
        match timeout(wait, subscription.next()).await {
            Err(_) => Ok(json!({ "job": null })),
            Ok(Some(job)) => Ok(json!({ "job": delivered_json(job)? })),
            Ok(None) => Err(client_failure(&subscription.failure().unwrap_or(ClientError::Closed))),
        }
    }

    async fn worker_start(&self, client: Client, command: &Value) -> Result<Value, Failure> {
        let name = text(command, "worker").to_owned();
        let Request::Reserve(reserve) = request_of("RESERVE", &with_default(command, "jobs_max", 1))? else {
            return Err(shown::usage("topics"));
        };
        let small = |field: &str, usual: u32| {
            command[field].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(usual)
        };
        let (concurrency, prefetch) = (small("concurrency", 1), small("prefetch", 0));
        let first = reserve.topics.first().cloned().ok_or_else(|| shown::usage("topics"))?;
        let config =
            WorkerConfig { topics: reserve.topics, concurrency, prefetch, ..WorkerConfig::new(first) };
        let of = name.clone();
        let handle = move |job: Delivered, told| handler::handle(of.clone(), job, told);
        let worker = Worker::start(&client, config, handle).await.map_err(|error| client_failure(&error))?;
        self.workers.lock().expect("whole").insert(name, worker);
        Ok(json!({}))
    }

    async fn worker_stop(&self, command: &Value) -> Result<Value, Failure> {
        let found = self.workers.lock().expect("whole").remove(text(command, "worker"));
        let worker = found.ok_or_else(|| shown::usage("no such worker"))?;
        // At the deadline the worker is dropped, and its handlers with it.
        let _ = timeout(Duration::from_millis(number(command, "deadline_ms")), worker.stop()).await;
        Ok(json!({}))
    }

    fn health(&self, command: &Value) -> Result<Value, Failure> {
        let workers = self.workers.lock().expect("whole");
        let worker = workers.get(text(command, "worker")).ok_or_else(|| shown::usage("no such worker"))?;
        Ok(json!({ "consuming": worker.is_consuming() }))
    }

    /// Stops workers and closes clients.
    async fn end(&self) {
        let workers = std::mem::take(&mut *self.workers.lock().expect("whole"));
        for worker in workers.into_values() {
            let _ = timeout(STOP_DEADLINE, worker.stop()).await;
        }
        self.subscriptions.lock().expect("whole").clear();
        let clients = std::mem::take(&mut *self.clients.lock().expect("whole"));
        for client in clients.into_values() {
            let _ = timeout(STOP_DEADLINE, client.close()).await;
        }
    }
}

async fn list(client: &Client, command: &Value) -> Result<Value, Failure> {
    let mut fields = with_default(command, "jobs_max", 1_024);
    fields["marks"] = json!(u8::from(command["with_bodies"] == true));
    let Request::List(mut list) = request_of("LIST", &fields)? else { return Err(shown::usage("a filter")) };
    let mut jobs = Vec::new();
    loop {
        let page = client.list(list.clone()).await.map_err(|error| client_failure(&error))?;
        for job in page.jobs {
            jobs.push(report_json(job)?);
        }
        list.cursor = page.cursor;
        if list.cursor.is_empty() {
            return Ok(json!({ "jobs": jobs }));
        }
    }
}

async fn count(client: &Client, command: &Value) -> Result<Value, Failure> {
    let Request::Count(Count { filter, bars }) = request_of("COUNT", command)? else {
        return Err(shown::usage("a filter"));
    };
    let Some(bars) = bars else {
        let jobs = client.count(filter).await.map_err(|error| client_failure(&error))?;
        return Ok(json!({ "jobs": jobs.to_string() }));
    };
    let by_due = client.count_by_due(filter, bars).await.map_err(|error| client_failure(&error))?;
    let jobs: u64 = by_due.iter().map(|bar| bar.jobs).sum();
    let bar = |bar: &DueBar| json!({ "start_ms": bar.from.0.to_string(), "jobs": bar.jobs.to_string() });
    Ok(json!({ "jobs": jobs.to_string(), "by_due": by_due.iter().map(bar).collect::<Vec<_>>() }))
}

async fn settle(client: &Client, command: &Value) -> Result<Value, Failure> {
    let Request::Finish { leases } = request_of("FINISH", command)? else {
        return Err(shown::usage("leases"));
    };
    let reason = text(command, "reason");
    let settled = match text(command, "do") {
        "finish" => client.finish(leases).await,
        "bury" if reason.is_empty() => client.bury(leases).await,
        "bury" => client.bury_because(leases, reason).await,
        "touch" => {
            let ttr_ms = command["ttr_ms"].as_u64().and_then(|ms| u32::try_from(ms).ok());
            client.touch(leases, ttr_ms.filter(|ms| *ms > 0)).await
        }
        _ => release(client, leases, command, reason).await,
    };
    results_json(&Response::Settled(settled.map_err(|error| client_failure(&error))?))
}

async fn release(
    client: &Client,
    leases: Vec<Lease>,
    command: &Value,
    reason: &str,
) -> Result<Vec<adjourn_protocol::SettleResult>, ClientError> {
    let kind = match text(command, "how") {
        "not_started" => ReleaseKind::NotStarted,
        "after" => ReleaseKind::After(number(command, "delay_ms")),
        "parked" => ReleaseKind::Parked(number(command, "delay_ms")),
        _ => ReleaseKind::Backoff,
    };
    if reason.is_empty() {
        return client.release(leases, kind).await;
    }
    client.release_because(leases, kind, reason).await
}

fn side(command: &Value) -> Side {
    Side::from_name(text(command, "side")).unwrap_or(Side::Request)
}

fn text<'a>(command: &'a Value, name: &str) -> &'a str {
    command[name].as_str().unwrap_or_default()
}

/// A wide number.
fn number(command: &Value, name: &str) -> u64 {
    text(command, name).parse().unwrap_or_default()
}

fn with_default(command: &Value, name: &str, value: u64) -> Value {
    let mut command = command.clone();
    if command[name].is_null() {
        command[name] = json!(value);
    }
    command
}
