//! The producers' protocol of `chenlinzhong/php-delayqueue`: TCP, each message four decimal digits of length and JSON.
//!
//! Its queue makes call-backs; so does this one, by the topic's settings, which `adjourn import php-delayqueue` creates.
//! Its ids belong to a topic, as keys do.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tracing::debug;

use super::super::caller::{Caller, HttpState};
use super::super::connection::HttpConnection;
use super::super::listener::TAKES_WITHIN;
use super::super::patience::Patient;
use super::{Failure, key_of, look, push_one, topic_of};
use adjourn_protocol::{Changed, ErrorCode, JobRef, NewJob, Request, TopicSettings};
use adjourn_server::{Accepted, wall};
use adjourn_types::limits::{DELAY_MS_MAX, PRIORITY_UNSAID};
use adjourn_types::{Attributes, CallBack, IfExists, Millis, TopicName, When};

/// Digits before each message.
const LENGTH_DIGITS: usize = 4;
/// The maximum length that these digits can state.
const MESSAGE_BYTES_MAX: usize = 9999;
/// A connection without requests for this time is closed.
const SILENCE_MAX: Duration = Duration::from_mins(5);
/// The format of PHP's `date` and `strtotime`.
const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// A request.
#[derive(Deserialize)]
struct Asked {
    cmd: String,
    #[serde(default)]
    topic: String,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    body: Value,
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
                    return write(&mut stream, &reply(false, &json!([]))).await;
                }
            };
            caller.wait_for_turn().await;
            let asked = serde_json::from_slice(&message).map_err(|_| io::ErrorKind::InvalidData)?;
            let producer = Producer { caller, zone: zone.clone() };
            match producer.obey(asked).await {
                Some(Ok(data)) => write(&mut stream, &reply(true, &data)).await?,
                Some(Err(why)) => {
                    debug!(%address, %why, "a request of php-delayqueue failed");
                    write(&mut stream, &reply(false, &json!([]))).await?;
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
fn reply(is_done: bool, data: &Value) -> String {
    let (code, msg) = if is_done { (1, "succ") } else { (0, "fail") };
    let reply = format!(r#"{{"code":{code},"msg":"{msg}","data":{data}}}"#);
    // A longer reply does not fit into a frame.
    if reply.len() <= MESSAGE_BYTES_MAX { reply } else { self::reply(false, &json!([])) }
}

impl Asked {
    /// The job that the request names.
    fn job(&self) -> Result<JobRef, Failure> {
        Ok(JobRef::Key { topic: topic_of(&self.topic)?, key: key_of(&id_of(&self.id)?)? })
    }
}

impl Producer {
    /// Carries out a request. Returns the data of the reply; `None` if there is no such command.
    async fn obey(&self, asked: Asked) -> Option<Result<Value, Failure>> {
        match asked.cmd.as_str() {
            "add" => Some(self.add(asked).await),
            "del" => Some(self.delete(&asked).await),
            "get" => Some(self.get(&asked).await),
            _ => None,
        }
    }

    async fn add(&self, asked: Asked) -> Result<Value, Failure> {
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
        let mut fields = fields_of(asked.body)?;
        fields.insert("notify_time".to_owned(), self.shown(due).into());
        fields.entry("dq_set_time").or_insert_with(|| self.shown(now).into());
        let body = Bytes::from(Value::Object(fields).to_string());
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
        Ok(json!([]))
    }

    async fn delete(&self, asked: &Asked) -> Result<Value, Failure> {
        self.caller.ask::<Changed>(Request::Delete(asked.job()?)).await?;
        Ok(json!([]))
    }

    async fn get(&self, asked: &Asked) -> Result<Value, Failure> {
        let found = look(self.caller.clone(), asked.job()?).await?;
        let found = found.ok_or_else(|| Failure::Impossible("there is no such job".to_owned()))?;
        if found.body.len() > MESSAGE_BYTES_MAX {
            return Err(Failure::Impossible("the body is too large for a reply".to_owned()));
        }
        serde_json::from_slice(&found.body).map_err(|_| {
            Failure::Impossible("the job was pushed in another way: its body is no JSON".to_owned())
        })
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
        let time = i64::try_from(time.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
        time.unwrap_or(Timestamp::MAX).to_zoned(self.zone.clone()).strftime(TIME_FORMAT).to_string()
    }
}

/// An id as PHP writes it: a text or a number.
fn id_of(id: &Value) -> Result<String, Failure> {
    match id {
        Value::String(id) => Ok(id.clone()),
        Value::Number(id) => Ok(id.to_string()),
        _ => Err(Failure::Impossible("an id is a text or a number".to_owned())),
    }
}

/// The fields of a body: those of an object, or the items of a list by their indices, as in a PHP array.
fn fields_of(body: Value) -> Result<Map<String, Value>, Failure> {
    match body {
        Value::Object(fields) => Ok(fields),
        Value::Array(items) => {
            Ok((0..).zip(items).map(|(place, item): (usize, _)| (place.to_string(), item)).collect())
        }
        Value::Null => Ok(Map::new()),
        _ => Err(Failure::Impossible("a body is an object".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_theirs_to_the_byte() {
        assert_eq!(reply(true, &json!([])), r#"{"code":1,"msg":"succ","data":[]}"#);
        assert_eq!(reply(false, &json!([])), r#"{"code":0,"msg":"fail","data":[]}"#);
        let long = json!({"x": "y".repeat(MESSAGE_BYTES_MAX)});
        assert_eq!(reply(true, &long), r#"{"code":0,"msg":"fail","data":[]}"#);
    }

    #[test]
    fn bodies_and_ids_are_as_php_has_them() {
        let fields = |body: Value| fields_of(body).ok().map(|fields| Value::Object(fields).to_string());
        assert_eq!(fields(json!(["a", 2])).as_deref(), Some(r#"{"0":"a","1":2}"#));
        assert_eq!((fields(json!(null)).as_deref(), fields(json!("x"))), (Some("{}"), None));
        assert_eq!(id_of(&json!(7)).ok().as_deref(), Some("7"));
        assert!(id_of(&json!(null)).is_err() && id_of(&json!([1])).is_err());
    }
}
