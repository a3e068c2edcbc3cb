//! Plays a scenario: one step after the other, for one client.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};

use super::clients::Client;
use super::fake::Fake;
use super::harness::{Harness, PATIENCE};
use super::matching::{at_path, differs, filled_in};
use super::nodes::{Nodes, Server};
use super::proxy::Proxy;
use super::rig::now;
use super::scenarios::{self, Scenario, Where};
use super::tls::{Tls, secured};

/// The fields of a step that are not for the harness.
const OWN_FIELDS: [&str; 7] = ["expect", "error", "save", "as", "harness", "until", "of"];

struct Stage<'a> {
    client: &'a Client,
    /// How `connect` speaks TLS, if it does.
    tls: Option<&'a Tls>,
    harnesses: BTreeMap<String, Harness>,
    server: Option<Server>,
    nodes: Option<Nodes<'a>>,
    fake: Option<Fake>,
    proxy: Option<Proxy>,
    /// Takes connections and says nothing.
    silent: TcpListener,
    /// Where `connect` goes if it does not say it.
    addresses: Vec<String>,
    saved: BTreeMap<String, Value>,
    /// Commands whose answers are awaited later.
    under_way: BTreeMap<String, (String, u64)>,
}

/// Plays it, and says what went wrong.
/// `turn` decides about TLS where the scenario leaves it open.
pub(crate) fn play(client: &Client, scenario: &Scenario, tls: &Tls, turn: usize) -> Result<(), String> {
    let mut stage = Stage::set(client, scenario, tls, turn)?;
    for (step, number) in scenario.steps.iter().zip(1..) {
        stage.step(step).map_err(|why| format!("step {number}, {step}: {why}"))?;
    }
    for harness in stage.harnesses.values_mut() {
        harness.finish()?;
    }
    Ok(())
}

impl<'a> Stage<'a> {
    fn set(client: &'a Client, scenario: &Scenario, tls: &'a Tls, turn: usize) -> Result<Self, String> {
        let is_secure = match scenario.tls {
            None => tls.is_spoken(turn),
            Some(wanted) => wanted != scenarios::Tls::None,
        };
        let harnesses = BTreeMap::from([(String::new(), client.start()?)]);
        let mut stage = Self {
            client,
            tls: is_secure.then_some(tls),
            harnesses,
            server: None,
            nodes: None,
            fake: None,
            proxy: None,
            silent: TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?,
            addresses: Vec::new(),
            // TOML has no null.
            saved: BTreeMap::from([("null".to_owned(), Value::Null)]),
            under_way: BTreeMap::new(),
        };
        let silent = stage.silent.local_addr().map_err(|error| error.to_string())?;
        stage.saved.insert("silent".to_owned(), json!(silent.to_string()));
        let files = tls.named().map(|(name, path)| (name.to_owned(), json!(path)));
        stage.saved.extend(files);
        let mut arguments = scenario.arguments.clone();
        let front = |address| if is_secure { tls.front(address) } else { address };
        let address = match scenario.place {
            Where::Server if scenario.has_proxy => {
                let proxy = stage.proxy.insert(Proxy::start());
                let address = front(proxy.address);
                // Else clients learn from WELCOME how to get around it.
                arguments.extend(["--client-address".to_owned(), address.to_string()]);
                proxy.lead_to(stage.server.insert(Server::start(&arguments)).address);
                address
            }
            Where::Server => {
                if is_secure {
                    arguments.extend(tls.serving(scenario.tls == Some(scenarios::Tls::Both)));
                }
                stage.server.insert(Server::start(&arguments)).address
            }
            Where::Fake => front(stage.fake.insert(Fake::start(&scenario.script)).address),
            Where::Cluster => {
                let nodes = stage.nodes.insert(Nodes::start(&arguments, stage.tls));
                stage.addresses = nodes.addresses();
                return Ok(stage);
            }
        };
        stage.name_server(address);
        Ok(stage)
    }

    /// What the steps may say for the address of the server.
    fn name_server(&mut self, address: SocketAddr) {
        let plain = address.to_string();
        let elsewhere = format!("localhost:{}", address.port());
        let names =
            [("server", plain.clone()), ("secured", secured(&plain)), ("elsewhere", secured(&elsewhere))];
        self.saved.extend(names.map(|(name, address)| (name.to_owned(), json!(address))));
        self.addresses = vec![plain];
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let step = &filled_in(step, &self.saved);
        if step["do"].is_string() {
            return self.command(step);
        }
        if let Some(name) = step["await"].as_str() {
            let (harness, id) = self.under_way.remove(name).ok_or("nothing of that name is under way")?;
            let answer = self.harness(&harness)?.answer(id)?;
            return self.check(step, &answer);
        }
        if let Some(name) = step["run"].as_str() {
            return self.run(name, step);
        }
        if let Some(order) = step["proxy"].as_str() {
            let proxy = self.proxy.as_ref().ok_or("there is no proxy")?;
            return match step["frame"].as_str() {
                Some(frame) => proxy.trap(frame, order),
                None => proxy.obey(order),
            };
        }
        if step["event"].is_object() {
            let event = self.harness(text(step, "harness"))?.event(&step["event"])?;
            return self.save(step, &event);
        }
        if step["no_event"].is_object() {
            let has = self.harness(text(step, "harness"))?.has_event(&step["no_event"]);
            return if has { Err("there is such an event".to_owned()) } else { Ok(()) };
        }
        let fake = self.fake.as_ref().ok_or("no such step")?;
        if let Some(opcode) = step["seen"].as_str() {
            let nth = step["nth"].as_u64().and_then(|nth| usize::try_from(nth).ok()).unwrap_or(1);
            let fields = if step["fields"].is_null() { json!({}) } else { step["fields"].clone() };
            let seen = fake.seen(opcode, nth, &fields)?;
            return self.save(step, &seen);
        }
        let opcode = step["unseen"].as_str().ok_or("no such step")?;
        let most = step["more_than"].as_u64().unwrap_or_default();
        let count = fake.count(opcode);
        if count as u64 > most { Err(format!("{count} came")) } else { Ok(()) }
    }

    /// A command for a harness.
    fn command(&mut self, step: &Value) -> Result<(), String> {
        let mut command = step.clone();
        let fields = command.as_object_mut().expect("a step");
        fields.retain(|name, _| !OWN_FIELDS.contains(&name.as_str()));
        if step["do"] == "connect" {
            if step["addresses"].is_null() {
                command["addresses"] = json!(self.addresses);
            }
            self.choose_tls(&mut command);
        }
        if let Some(other) = step["of"].as_str() {
            let (_, id) = self.under_way.get(other).ok_or("nothing of that name is under way")?;
            command["command"] = json!(id);
        }
        let name = text(step, "harness").to_owned();
        if let Some(later) = step["as"].as_str() {
            let id = self.harness(&name)?.send(&command)?;
            self.under_way.insert(later.to_owned(), (name, id));
            return Ok(());
        }
        let begun = now();
        loop {
            let answer = self.harness(&name)?.ask(&command)?;
            match self.check(step, &answer) {
                Err(_) if step["until"] == true && begun.elapsed() < PATIENCE => {}
                checked => return checked,
            }
        }
    }

    /// A step says itself which files `connect` is told, or `none`.
    fn choose_tls(&self, connect: &mut Value) {
        if connect["tls"] == "none" {
            connect.as_object_mut().expect("a step").remove("tls");
        } else if connect["tls"].is_null()
            && let Some(tls) = self.tls
        {
            tls.secure(connect);
        }
    }

    /// Compares an answer with what the step expects.
    fn check(&mut self, step: &Value, answer: &Value) -> Result<(), String> {
        if step["error"].is_null() {
            if !answer["error"].is_null() {
                return Err(format!("the answer is {}", answer["error"]));
            }
            let expected = if step["expect"].is_null() { json!({}) } else { step["expect"].clone() };
            differs(&expected, &answer["ok"])
                .map_or(Ok(()), |why| Err(format!("{why} in {}", answer["ok"])))?;
            return self.save(step, &answer["ok"]);
        }
        // Some calls may end well or with an error.
        if !step["expect"].is_null() && differs(&step["expect"], &answer["ok"]).is_none() {
            return Ok(());
        }
        // Some errors have more than one right name.
        let allowed = step["error"].as_array().cloned().unwrap_or_else(|| vec![step["error"].clone()]);
        let fits = |one: &&Value| differs(one, &answer["error"]).is_none();
        let is_allowed = !answer["error"].is_null() && allowed.iter().any(|one| fits(&one));
        if is_allowed { Ok(()) } else { Err(format!("the answer is {answer}")) }
    }

    fn save(&mut self, step: &Value, from: &Value) -> Result<(), String> {
        for (name, path) in step["save"].as_object().into_iter().flatten() {
            let path = path.as_str().unwrap_or_default();
            let value = at_path(from, path).ok_or_else(|| format!("there is no {path} in {from}"))?;
            self.saved.insert(name.clone(), value.clone());
        }
        Ok(())
    }

    fn harness(&mut self, name: &str) -> Result<&mut Harness, String> {
        if !self.harnesses.contains_key(name) {
            self.harnesses.insert(name.to_owned(), self.client.start()?);
        }
        self.harnesses.get_mut(name).ok_or_else(|| format!("no harness {name}"))
    }

    /// Something that happens to a process.
    fn run(&mut self, name: &str, step: &Value) -> Result<(), String> {
        let of = text(step, "harness").to_owned();
        match name {
            "kill-client" => {
                self.harnesses.remove(&of);
            }
            "terminate-client" => {
                self.harnesses.remove(&of).ok_or("no such harness")?.terminate()?;
            }
            "kill-server" => self.server.as_mut().ok_or("no server")?.kill(),
            "stop-server" => self.server.as_mut().ok_or("no server")?.stop()?,
            "start-server" => self.server.as_mut().ok_or("no server")?.start_again(),
            other => return self.run_cluster(other),
        }
        Ok(())
    }

    /// Something that happens to a node of a cluster.
    fn run_cluster(&mut self, name: &str) -> Result<(), String> {
        let nodes = self.nodes.as_mut().ok_or_else(|| format!("there is no {name}, or no cluster"))?;
        match name {
            "kill-leader" => nodes.kill(nodes.leader()),
            "stop-leader" => nodes.stop(nodes.leader()),
            "freeze-leader" => nodes.freeze(nodes.leader()),
            "mend-cluster" => nodes.mend(),
            "only-a-follower" => self.addresses = vec![nodes.follower_address()],
            other => return Err(format!("there is no {other}")),
        }
        Ok(())
    }
}

fn text<'a>(step: &'a Value, name: &str) -> &'a str {
    step[name].as_str().unwrap_or_default()
}
