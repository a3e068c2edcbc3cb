//! The producers' protocol of `chenlinzhong/php-delayqueue`: TCP, each message four decimal digits of length and JSON.
//!
//! Its queue makes call-backs; so does this one, by the topic's settings, which `adjourn import php-delayqueue` creates.
//! Its ids belong to a topic, as keys do.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tracing::debug;

use super::super::caller::{Caller, HttpState};
use super::super::connection::HttpConnection;
use super::super::listener::TAKES_WITHIN;
use super::super::patience::Patient;
use super::php_body::PhpBody;
use super::{Failure, look, push_one, topic_of};
use adjourn_call_backs::php_time::{self, FAILED_FIELD, TIME_FIELD, TIME_FORMAT};
use adjourn_protocol::{Changed, ErrorCode, JobRef, JobReport, NewJob, Request, TopicSettings};
use adjourn_server::{Accepted, wall};
use adjourn_types::limits::{DELAY_MS_MAX, PRIORITY_UNSAID};
use adjourn_types::{Attributes, CallBack, IfExists, JobState, Key, Millis, TopicName, When};

/// Digits before each message.
const LENGTH_DIGITS: usize = 4;
/// The maximum length that these digits can state.
const MESSAGE_BYTES_MAX: usize = 9999;
/// A connection without requests for this time is closed.
const SILENCE_MAX: Duration = Duration::from_mins(5);
/// The data of a reply that shows none.
const NO_DATA: &str = "[]";

/// A request.
#[derive(Deserialize)]
struct Asked {
    cmd: String,
    #[serde(default)]
    topic: String,
    #[serde(default)]
    id: Value,
    body: Option<Box<RawValue>>,
    fix_time: Option<Value>,
}

/// One producer.
struct Producer {
    caller: Caller,
    /// The time zone of `fix_time` and of times in answers.
    zone: TimeZone,
}

/// Serves one connection to its end.
pub(crate) async fn serve(accepted: Accepted, state: HttpState, zone: TimeZone) {
    let Accepted { stream, hold } = accepted;
    let (address, loss, stopping) = (hold.address(), hold.loss(), hold.stopping());
    let deadline = state.local().request_deadline();
    let connection = Arc::new(HttpConnection::new(hold));
    let mut stream = Patient::new(stream, TAKES_WITHIN);
    let serving = async {
        loop {
            let Some(message) = read(&mut stream, deadline).await? else { return Ok(()) };
            // The connection counts as unauthenticated until the first message has arrived.
            let caller = match Caller::without_token(&connection, &state) {
                Ok(caller) => caller,
                Err(error) => {
                    debug!(%address, %error, "a producer of php-delayqueue is refused");
                    return write(&mut stream, &reply(false, NO_DATA)).await;
                }
            };
            caller.wait_for_turn().await;
            let asked = serde_json::from_slice(&message).map_err(|_| io::ErrorKind::InvalidData)?;
            let producer = Producer { caller, zone: zone.clone() };
            match producer.obey(asked).await {
                Some(Ok(data)) => write(&mut stream, &reply(true, &data)).await?,
                Some(Err(why)) => {
                    debug!(%address, %why, "a request of php-delayqueue failed");
                    write(&mut stream, &reply(false, NO_DATA)).await?;
                }
                // As in the original, an unknown command gets no answer.
                None => {}
            }
        }
    };
    let ended: io::Result<()> = tokio::select! {
        biased;
        ended = serving => ended,
        () = loss.cancelled() => return,
        () = stopping.cancelled() => return,
    };
    if let Err(error) = ended {
        debug!(%address, %error, "a connection of php-delayqueue broke");
    }
}

/// The next message; `None` at the end. A message that was begun must be complete in time.
async fn read(stream: &mut Patient, deadline: Duration) -> io::Result<Option<Vec<u8>>> {
    let mut digits = [0; LENGTH_DIGITS];
    let Ok(begun) = timeout(SILENCE_MAX, stream.read(&mut digits)).await else { return Ok(None) };
    let begun = begun?;
    if begun == 0 {
        return Ok(None);
    }
    let rest = async {
        if let Some(rest) = digits.get_mut(begun..) {
            stream.read_exact(rest).await?;
        }
        let length = std::str::from_utf8(&digits)
            .ok()
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let length = length.and_then(|digits| digits.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let mut message = vec![0; length];
        stream.read_exact(&mut message).await?;
        Ok(Some(message))
    };
    timeout(deadline, rest).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn write(stream: &mut Patient, reply: &str) -> io::Result<()> {
    let framed = format!("{:04}{reply}", reply.len());
    stream.write_all(framed.as_bytes()).await?;
    stream.flush().await
}

/// A reply, with its fields in the order of the original.
fn reply(is_done: bool, data: &str) -> String {
    let (code, msg) = if is_done { (1, "succ") } else { (0, "fail") };
    let reply = format!(r#"{{"code":{code},"msg":"{msg}","data":{data}}}"#);
    // A longer reply does not fit into a frame.
    if reply.len() <= MESSAGE_BYTES_MAX { reply } else { self::reply(false, NO_DATA) }
}

impl Asked {
    /// The job that the request names.
    fn job(&self) -> Result<JobRef, Failure> {
        Ok(JobRef::Key { topic: topic_of(&self.topic)?, key: key_of(&id_of(&self.id)?)? })
    }
}

impl Producer {
    /// Carries out a request. Returns the data of the reply; `None` if there is no such command.
    async fn obey(&self, asked: Asked) -> Option<Result<String, Failure>> {
        match asked.cmd.as_str() {
            "add" => Some(self.add(asked).await),
            "del" => Some(self.delete(&asked).await),
            "get" => Some(self.get(&asked).await),
            _ => None,
        }
    }

    async fn add(&self, asked: Asked) -> Result<String, Failure> {
        let topic = topic_of(&asked.topic)?;
        let key = key_of(&id_of(&asked.id)?)?;
        let call_back = self.call_back(&topic).await?;
        let now = wall();
        let due = if let Some(time) = &asked.fix_time {
            self.time(time)?
        } else {
            Millis(now.0.saturating_add(call_back.delay_ms.unwrap_or(0)))
        };
        let delay_ms = due.0.saturating_sub(now.0);
        if delay_ms > DELAY_MS_MAX {
            return Err(Failure::Impossible("a delay is at most ten years".to_owned()));
        }
        let mut fields = body_of(asked.body.as_deref())?;
        fields.set(TIME_FIELD, &self.shown(due).into());
        if !fields.has("dq_set_time") {
            fields.set("dq_set_time", &self.shown(now).into());
        }
        let body = Bytes::from(fields.to_json());
        let due = if asked.fix_time.is_some() { When::At(due) } else { When::After(delay_ms) };
        let job = NewJob {
            due,
            priority: PRIORITY_UNSAID,
            ttr_ms: 0,
            if_exists: IfExists::ReplaceReserved,
            key: Some(key),
            attributes: Attributes::default(),
            body,
        };
        push_one(&self.caller, topic, job).await?;
        Ok(NO_DATA.to_owned())
    }

    async fn delete(&self, asked: &Asked) -> Result<String, Failure> {
        self.caller.ask::<Changed>(Request::Delete(asked.job()?)).await?;
        Ok(NO_DATA.to_owned())
    }

    async fn get(&self, asked: &Asked) -> Result<String, Failure> {
        let found = look(&self.caller, asked.job()?).await?;
        let found = found.ok_or_else(|| Failure::Impossible("there is no such job".to_owned()))?;
        if found.body.len() > MESSAGE_BYTES_MAX {
            return Err(Failure::Impossible("the body is too large for a reply".to_owned()));
        }
        let body: PhpBody = serde_json::from_slice(&found.body).map_err(|_| {
            Failure::Impossible("the job was pushed in another way: its body is no JSON object".to_owned())
        })?;
        Ok(self.with_times(body, &found).to_json())
    }

    /// A body as it is after the attempts so far: each puts the next time and their number into it.
    fn with_times(&self, mut body: PhpBody, job: &JobReport) -> PhpBody {
        let is_held = job.state == Some(JobState::Reserved);
        let failed = job.attempts.saturating_sub(is_held.into());
        if failed > 0 {
            body.set(TIME_FIELD, &self.shown(job.due).into());
            body.set(FAILED_FIELD, &failed.into());
        }
        body
    }

    /// The call-back settings of a topic. A topic without call-backs is unknown, as in the original.
    async fn call_back(&self, topic: &TopicName) -> Result<Arc<CallBack>, Failure> {
        let unknown = || {
            Failure::Impossible(format!(
                "topic {topic} has no call-back: set one with `adjourn import php-delayqueue` or `adjourn topic set`"
            ))
        };
        match self.caller.ask::<TopicSettings>(Request::TopicShow { topic: topic.clone() }).await {
            Ok(settings) => {
                let call_back = settings.policy.call_back;
                let calls = |call_back: &Arc<CallBack>| call_back.url.is_some() || call_back.of_job;
                call_back.filter(calls).ok_or_else(unknown)
            }
            Err(problem) if problem.json().code == ErrorCode::NotFound.name() => Err(unknown()),
            Err(problem) => Err(problem.into()),
        }
    }

    fn time(&self, said: &Value) -> Result<Millis, Failure> {
        let wrong = || Failure::Impossible(format!("fix_time: expected Y-m-d H:i:s, found {said}"));
        let text = said.as_str().ok_or_else(wrong)?;
        let time = DateTime::strptime(TIME_FORMAT, text.trim()).map_err(|_| wrong())?;
        let time = time.to_zoned(self.zone.clone()).map_err(|_| wrong())?;
        u64::try_from(time.timestamp().as_millisecond()).map(Millis).map_err(|_| wrong())
    }

    fn shown(&self, time: Millis) -> String {
        php_time::text(time, &self.zone)
    }
}

fn key_of(id: &str) -> Result<Key, Failure> {
    Key::new(Bytes::copy_from_slice(id.as_bytes()))
        .map_err(|_| Failure::Impossible("an id has at most 256 bytes, and no control characters".to_owned()))
}

/// An id as PHP writes it: a text or a number.
fn id_of(id: &Value) -> Result<String, Failure> {
    match id {
        Value::String(id) => Ok(id.clone()),
        Value::Number(id) => Ok(id.to_string()),
        _ => Err(Failure::Impossible("an id is a text or a number".to_owned())),
    }
}

fn body_of(json: Option<&RawValue>) -> Result<PhpBody, Failure> {
    let Some(json) = json else { return Ok(PhpBody::default()) };
    serde_json::from_str(json.get())
        .map_err(|_| Failure::Impossible("a body is an object or a list".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replies_are_theirs_to_the_byte() {
        assert_eq!(reply(true, NO_DATA), r#"{"code":1,"msg":"succ","data":[]}"#);
        assert_eq!(reply(false, NO_DATA), r#"{"code":0,"msg":"fail","data":[]}"#);
        let long = json!({"x": "y".repeat(MESSAGE_BYTES_MAX)}).to_string();
        assert_eq!(reply(true, &long), r#"{"code":0,"msg":"fail","data":[]}"#);
    }

    #[test]
    fn ids_are_as_php_has_them() {
        assert_eq!(id_of(&json!(7)).ok().as_deref(), Some("7"));
        assert!(id_of(&json!(null)).is_err() && id_of(&json!([1])).is_err());
    }
}
