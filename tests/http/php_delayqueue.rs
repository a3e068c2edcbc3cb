//! Producers of php-delayqueue, and the call-backs that its table of topics asks for.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::rig::Site;
use super::tokens::site_with_tokens_and;
use crate::call_backs::{Answer, Receiver, may_call_here};
use crate::cli::commands::Commands;

/// A producer that knows nothing but bytes.
struct Producer(TcpStream);

impl Producer {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
        Self(stream)
    }

    fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    fn send_text(&mut self, text: &str) {
        write!(self.0, "{:04}{text}", text.len()).expect("sent");
    }

    /// The next reply as it came; `None` at the end.
    fn reply(&mut self) -> Option<String> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).ok()?;
        let length = String::from_utf8(length.to_vec()).expect("digits").parse().expect("a length");
        let mut text = vec![0; length];
        self.0.read_exact(&mut text).expect("as much as was announced");
        Some(String::from_utf8(text).expect("text"))
    }

    fn ask(&mut self, message: &Value) -> String {
        self.send(message);
        self.reply().expect("a reply")
    }

    fn get(&mut self, topic: &str, id: &str) -> Value {
        serde_json::from_str(&self.ask(&json!({"cmd": "get", "topic": topic, "id": id}))).expect("JSON")
    }
}

const DONE: &str = r#"{"code":1,"msg":"succ","data":[]}"#;
const FAILED: &str = r#"{"code":0,"msg":"fail","data":[]}"#;

fn site() -> Site {
    Site::with(|config| {
        may_call_here(config);
        config.php_delayqueue_listen = Some("127.0.0.1:0".to_owned());
        config.php_delayqueue_time_zone =
            "Asia/Shanghai".parse::<adjourn_server::config::ZoneName>().expect("tzdata").0;
    })
}

fn producer(site: &Site) -> Producer {
    Producer::connect(site.node.php_delayqueue_address())
}

/// Takes over a table of topics, as the command line does. What it prints.
fn import(site: &Site, table: &str, options: &[&str]) -> String {
    let file = site.folder().join("topics.sql");
    std::fs::write(&file, table).expect("written");
    let arguments = [&["import", "php-delayqueue", file.to_str().expect("a path")], options].concat();
    Commands::to(&site.node.address).ok(&arguments)
}

/// A row of its table.
fn row(topic: &str, delay: u32, callback: &str, flag: &str, status: u32, method: &str) -> String {
    let flag = flag.replace('\'', "\\'");
    format!(
        "INSERT INTO `dq_topic` VALUES (1,'name',{delay},'{callback}',3000,'ops@shop.example','{topic}','{flag}','me',{status},'{method}',2);\n"
    )
}

#[test]
fn a_job_is_added_shown_and_deleted() {
    let site = site();
    let table = row("orders", 3600, "http://127.0.0.1:1/x", "", 1, "GET")
        + &row("订单", 0, "http://127.0.0.1:1/", "", 1, "GET");
    import(&site, &table, &[]);
    let mut producer = producer(&site);
    let add = json!({"cmd": "add", "topic": "orders", "id": 7, "body": {"uid": 5}, "fix_time": "2031-02-03 04:05:06"});
    assert_eq!(producer.ask(&add), DONE);
    let got = producer.get("orders", "7");
    assert_eq!((&got["code"], &got["data"]["uid"]), (&json!(1), &json!(5)));
    assert_eq!(got["data"]["notify_time"], "2031-02-03 04:05:06");
    assert!(got["data"]["dq_set_time"].as_str().is_some_and(|time| time.len() == 19));
    let job = site.web().get("/v1/topics/orders/keys/7").json();
    assert_eq!(
        (&job["due"], &job["state"]),
        (&json!("2031-02-02T20:05:06.000Z"), &json!("delayed")),
        "in Shanghai"
    );
    // An id that is there is replaced, and the topic's delay counts where no time is said.
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "orders", "id": "7", "body": {"uid": 6}})), DONE);
    let got = producer.get("orders", "7");
    assert_eq!(got["data"]["uid"], json!(6));
    let jobs = site.web().get("/v1/topics/orders").json();
    assert_eq!((&jobs["count"], &jobs["settings"]["call_back_delay_ms"]), (&json!(1), &json!(3_600_000)));
    assert_eq!(producer.ask(&json!({"cmd": "del", "topic": "orders", "id": "7"})), DONE);
    for gone in ["del", "get"] {
        assert_eq!(producer.ask(&json!({"cmd": gone, "topic": "orders", "id": "7"})), FAILED);
    }
    assert_eq!(
        producer.ask(
            &json!({"cmd": "add", "topic": "订单", "id": "a", "body": {}, "fix_time": "2031-02-03 04:05:06"})
        ),
        DONE
    );
    assert_eq!(site.web().get("/v1/topics/:e8:ae:a2:e5:8d:95").json()["count"], json!(1));
}

#[test]
fn what_cannot_be_done_fails_and_the_connection_goes_on() {
    let site = site();
    import(&site, &row("t", 5, "http://127.0.0.1:1/x", "", 1, "GET"), &[]);
    let mut producer = producer(&site);
    for wrong in [
        json!({"cmd": "add", "topic": "unknown", "id": "1", "body": {}}),
        json!({"cmd": "add", "topic": "t", "body": {}}),
        json!({"cmd": "add", "topic": "t", "id": "1", "body": "text"}),
        json!({"cmd": "add", "topic": "t", "id": "1", "body": true}),
        json!({"cmd": "add", "topic": "t", "id": "1", "body": {}, "fix_time": "tomorrow"}),
        json!({"cmd": "add", "topic": "t", "id": "1", "body": {}, "fix_time": 1_900_000_000}),
        json!({"cmd": "add", "topic": "t", "id": "1", "body": {}, "fix_time": "9999-01-01 00:00:00"}),
        json!({"cmd": "get", "topic": "t", "id": "1"}),
    ] {
        assert_eq!(producer.ask(&wrong), FAILED, "{wrong}");
    }
    // A topic whose jobs nobody would be called for.
    assert_eq!(site.web().post("/v1/topics/plain/jobs", &json!({})).status, 201);
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "plain", "id": "1", "body": {}})), FAILED);
    // An unknown command has no reply: the next one has.
    producer.send(&json!({"cmd": "list"}));
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "t", "id": "1", "body": ["a"]})), DONE);
    assert_eq!(producer.get("t", "1")["data"]["0"], json!("a"));
    assert_eq!(site.web().get("/v1/topics/unknown").status, 404, "no topic is made by the way");
    for bytes in [&b"12x4{}"[..], b"0002[]", b"0005hello"] {
        let mut broken = self::producer(&site);
        broken.0.write_all(bytes).expect("sent");
        assert_eq!(broken.reply(), None);
    }
    let mut cut = self::producer(&site);
    cut.0.write_all(b"0050{\"cmd\"").expect("sent");
    cut.0.shutdown(Shutdown::Write).expect("connected");
    assert_eq!(cut.reply(), None);
}

#[test]
fn jobs_are_called_back_as_there() {
    let site = site();
    let getter = Receiver::always(Answer::Reply(200, "", "{\"code\":200}"));
    let poster = Receiver::new(|call| {
        // Its status says nothing there; an empty reply, and one that the condition finds, is tried again.
        let is_second = String::from_utf8_lossy(&call.body).contains("exp_notify_nums=1");
        if is_second {
            Answer::Reply(500, "", "{\"code\":200}")
        } else {
            Answer::Reply(200, "", "{\"code\":500}")
        }
    });
    let table = row("get", 1, &getter.url("/due?from=queue"), "重试标记", 1, "GET")
        + &row("post", 0, &poster.url("/due"), "{res.code}!=200", 1, "POST")
        + &row("off", 0, &poster.url("/"), "", 0, "GET");
    let dry = import(&site, &table, &["--dry-run"]);
    assert_eq!(site.web().get("/v1/topics/get").status, 404);
    assert!(
        dry.contains("adjourn topic set post ") && dry.contains("--call-back-retry-if '{res.code}!=200'"),
        "{dry}"
    );
    let done = import(&site, &table, &[]);
    assert!(done.starts_with("get: set\n# get: mails to ops@shop.example"), "{done}");
    assert!(
        done.contains("# off: left out") && done.contains("the servers must be allowed to call 127.0.0.1:"),
        "{done}"
    );
    let mut producer = producer(&site);
    let body = r#"{"uid":5,"name":"a b+\u00fc","more":{"x":1},"none":null,"no":false,"f":1.0}"#;
    producer.send_text(&format!(r#"{{"cmd":"add","topic":"get","id":"1","body":{body}}}"#));
    assert_eq!(producer.reply().as_deref(), Some(DONE));
    let call = getter.call();
    let fields = "GET /due?from=queue&uid=5&name=a%20b%2B%C3%BC&more%5Bx%5D=1&none=&no=&f=1&notify_time=2";
    assert!(call.line.starts_with(fields) && call.line.contains("&dq_set_time=2"), "{}", call.line);
    assert_eq!(call.body, b"");
    // The waits of its rounds are long: for the test there is none.
    Commands::to(&site.node.address).ok(&["topic", "set", "post", "--backoff", "10ms"]);
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "post", "id": "1", "body": {"uid": 6}})), DONE);
    let first = String::from_utf8(poster.call().body).expect("text");
    assert!(first.contains("uid=6") && !first.contains("exp_notify_nums"), "{first}");
    let second = poster.call();
    assert_eq!(second.header("content-type"), "application/x-www-form-urlencoded");
    let second = String::from_utf8(second.body).expect("text");
    assert!(second.ends_with("&exp_notify_nums=1"), "{second}");
    while producer.get("post", "1")["code"] == json!(1) {}
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "off", "id": "1", "body": {}})), FAILED);
}

#[test]
fn a_body_keeps_its_fields_and_a_retry_renews_its_time() {
    let site = site();
    let receiver = Receiver::new(|call| {
        let is_retry = call.line.contains("exp_notify_nums");
        Answer::Reply(200, "", if is_retry { "done" } else { "0" })
    });
    import(&site, &row("t", 0, &receiver.url("/due"), "", 1, "GET"), &[]);
    let mut producer = producer(&site);
    let add = |id: u8, time: &str| {
        let body =
            r#"{"z":null,"a":{"d":1.50,"c":[1, 2]},"notify_time":"never","b":false,"dq_set_time":"once"}"#;
        format!(r#"{{"cmd":"add","topic":"t","id":{id},"body":{body}{time}}}"#)
    };
    producer.send_text(&add(1, r#","fix_time":"2031-02-03 04:05:06""#));
    assert_eq!(producer.reply().as_deref(), Some(DONE));
    producer.send(&json!({"cmd": "get", "topic": "t", "id": "1"}));
    let body = r#"{"z":null,"a":{"d":1.50,"c":[1, 2]},"notify_time":"2031-02-03 04:05:06","b":false,"dq_set_time":"once"}"#;
    assert_eq!(producer.reply(), Some(format!(r#"{{"code":1,"msg":"succ","data":{body}}}"#)));
    // Its first call fails; the second one is due a day later.
    Commands::to(&site.node.address).ok(&["topic", "set", "t", "--backoff", "1d"]);
    producer.send_text(&add(2, ""));
    assert_eq!(producer.reply().as_deref(), Some(DONE));
    let first = receiver.call().line;
    let waiting = loop {
        let got = producer.get("t", "2");
        if got["data"]["exp_notify_nums"] == json!(1) {
            break got;
        }
    };
    let due = site.web().get("/v1/topics/t/keys/2").json()["due"].as_str().expect("a time").to_owned();
    let due: jiff::Timestamp = due.parse().expect("a time");
    let shown = due.in_tz("Asia/Shanghai").expect("tzdata").strftime("%Y-%m-%d %H:%M:%S").to_string();
    assert_eq!(waiting["data"]["notify_time"], json!(shown));
    assert!(
        first.starts_with("GET /due?z=&a%5Bd%5D=1.5&a%5Bc%5D%5B0%5D=1&a%5Bc%5D%5B1%5D=2&notify_time=2"),
        "{first}"
    );
    assert!(first.contains("&b=&dq_set_time=once HTTP"), "{first}");
    site.web().ask("POST", "/v1/topics/t/keys/2/run-now", None).json();
    let second = receiver.call().line;
    assert!(second.ends_with("&b=&dq_set_time=once&exp_notify_nums=1 HTTP/1.1"), "{second}");
}

#[test]
fn calls_with_another_method_have_their_fields_in_the_url() {
    let site = site();
    let receiver = Receiver::always(Answer::Reply(200, "", "ok"));
    let table = row("put", 0, &receiver.url("/due?a=1"), "", 1, "put")
        + "-- "
        + &row("left", 0, "http://127.0.0.1:1/", "", 1, "GET");
    let told = import(&site, &table, &[]);
    assert!(told.contains("# put: calls are PUT with the fields in the URL, "), "{told}");
    assert!(!told.contains("left"), "{told}");
    let mut producer = producer(&site);
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "put", "id": "1", "body": {"uid": 5}})), DONE);
    let call = receiver.call();
    assert!(call.line.starts_with("PUT /due?a=1&uid=5&notify_time=2"), "{}", call.line);
    assert_eq!(call.body, b" ");
    let refused = row("t", 0, "http://a/", "", 1, "HEAD");
    std::fs::write(site.folder().join("topics.sql"), refused).expect("written");
    let file = site.folder().join("topics.sql");
    let arguments = ["import", "php-delayqueue", file.to_str().expect("a path")];
    Commands::to(&site.node.address).fails(&arguments, 2, "nothing was changed\ntopic t: method: ");
}

#[test]
fn the_document_shows_what_an_import_prints() {
    let table = row("orders", 300, "http://shop.example/due", "{res.code} != 200", 1, "GET");
    let printed = import(&site(), &table, &["--dry-run"]);
    assert!(include_str!("../../docs/dialects.md").contains(&printed), "{printed}");
}

#[test]
fn producers_act_as_the_token_that_is_named() {
    let (site, [_]) = site_with_tokens_and([&["--allow", "push,read:orders.*"]], |config| {
        config.php_delayqueue_listen = Some("127.0.0.1:0".to_owned());
        config.dialects_token = Some("token1".to_owned());
    });
    let mut producer = producer(&site);
    // It may push there, but there is no such topic.
    assert_eq!(producer.ask(&json!({"cmd": "add", "topic": "orders.eu", "id": "1", "body": {}})), FAILED);
    assert_eq!(producer.ask(&json!({"cmd": "del", "topic": "mails", "id": "1"})), FAILED);
}

/// A producer as PHP programs have it: blocking sockets, and the length by `sprintf`.
const SCRIPT: &str = r"
    function ask($to, $message) {
        $text = json_encode($message);
        fwrite($to, sprintf('%04d%s', strlen($text), $text));
        return json_decode(stream_get_contents($to, (int) stream_get_contents($to, 4)), true);
    }
    $to = stream_socket_client('tcp://' . getenv('ADDRESS'));
    stream_set_timeout($to, 30);
    $body = ['a' => 1, 'url' => 'http://x/ü', 'list' => [1, 2]];
    $added = ask($to, ['id' => uniqid('o'), 'body' => $body, 'fix_time' => '2031-01-01 00:00:00', 'cmd' => 'add', 'topic' => 'php']);
    ask($to, ['id' => 9, 'body' => $body, 'fix_time' => '2031-01-01 00:00:00', 'cmd' => 'add', 'topic' => 'php']);
    $got = ask($to, ['cmd' => 'get', 'topic' => 'php', 'id' => 9]);
    $deleted = ask($to, ['cmd' => 'del', 'topic' => 'php', 'id' => 9]);
    echo json_encode([$added['code'], $got['data']['url'], $got['data']['list'], $got['data']['notify_time'], $deleted['code']]);
";

#[test]
fn a_php_program_is_a_producer() {
    if Command::new("php").arg("--version").output().is_err() {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "php is not installed");
        println!("skipped: php is not installed");
        return;
    }
    let site = site();
    import(&site, &row("php", 0, "http://127.0.0.1:1/x", "", 1, "GET"), &[]);
    let mut php = Command::new("php");
    let output =
        php.args(["-r", SCRIPT]).env("ADDRESS", site.node.php_delayqueue_address().to_string()).output();
    let output = output.expect("run");
    let printed = String::from_utf8(output.stdout).expect("text");
    let expected = json!([1, "http://x/ü", [1, 2], "2031-01-01 00:00:00", 1]);
    assert_eq!(serde_json::from_str::<Value>(&printed).ok(), Some(expected), "{printed}");
}
