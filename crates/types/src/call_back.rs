//! A topic's call-back settings: the HTTP request that the queue sends when a job is due.

use super::attributes::read_u32;
use super::limits::{
    CALL_BACK_BODY_BYTES_MAX, CALL_BACK_CONDITION_BYTES_MAX, CALL_BACK_HEADERS_BYTES_MAX,
    CALL_BACK_SECRETS_BYTES_MAX, CALL_BACK_URL_BYTES_MAX,
};
use super::topic_policy::read_u64;
use super::{Condition, HttpUrl, PolicyError, Setting, Template};

/// The call-back settings of a topic, as they were given. A [`Template`] can refer to the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallBack {
    /// The URL to call, whose path and query are a [`Template`].
    pub url: Option<String>,
    /// The HTTP method; POST if not set.
    pub method: Option<Method>,
    /// Lines of `Name: value`, each value a [`Template`].
    pub headers: Option<String>,
    /// The request body, a [`Template`]; the job's body if not set.
    pub body: Option<String>,
    /// How long a call may take.
    pub timeout_ms: Option<u32>,
    /// Most calls at the same time.
    pub concurrency: Option<u32>,
    /// Most calls per second.
    pub per_second_max: Option<u32>,
    /// The name of the signing secrets in the node's configuration.
    pub secrets: Option<String>,
    /// What happens to a job whose call is answered with a status from 400 to 499.
    pub refused: Option<Refused>,
    /// A call fails if this [`Condition`] holds for the reply.
    pub retry_if: Option<String>,
    /// How a successful call is recognised.
    pub success: Option<Success>,
    /// Lets a job set the URL itself, in its header `call-back`.
    pub of_job: bool,
    /// How long attempts are kept for queries, in milliseconds.
    pub log_ms: Option<u64>,
    /// Stops the calls.
    pub paused: bool,
    /// Default delay in milliseconds, for php-delayqueue clients, whose pushes cannot set one.
    pub delay_ms: Option<u64>,
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET, without a body.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE, without a body.
    Delete,
}

/// What happens to a job whose call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is buried.
    Bury,
    /// It is tried again.
    Retry,
}

/// How a successful call is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// A status from 200 to 299.
    Status,
    /// A reply that is neither empty nor `0`, whatever its status.
    Reply,
}

/// A setting whose value is one of a fixed set of words.
trait Word: Copy + Eq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn read(value: &[u8]) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| word.as_bytes() == value).map(|(_, found)| *found)
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Word for Method {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("GET", Self::Get),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
    ];
}

impl Word for Refused {
    const WORDS: &'static [(&'static str, Self)] = &[("bury", Self::Bury), ("retry", Self::Retry)];
}

impl Word for Success {
    const WORDS: &'static [(&'static str, Self)] = &[("status", Self::Status), ("reply", Self::Reply)];
}

impl Method {
    /// The method as HTTP spells it.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// True if a request with this method has a body.
    pub fn has_body(self) -> bool {
        !matches!(self, Self::Get | Self::Delete)
    }
}

impl Refused {
    /// The value as the setting spells it.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl Success {
    /// The value as the setting spells it.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl CallBack {
    /// The change that pauses call-backs.
    pub fn pause() -> Self {
        Self { paused: true, ..Self::default() }
    }

    /// True if the queue calls back for jobs of this topic.
    pub fn is_wanted(&self) -> bool {
        !self.paused && (self.url.is_some() || self.of_job)
    }

    pub(super) fn value(&self, setting: Setting) -> Option<Vec<u8>> {
        let text = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let narrow = |value: Option<u32>| value.map(|value| value.to_le_bytes().to_vec());
        let wide = |value: Option<u64>| value.map(|value| value.to_le_bytes().to_vec());
        let word = |word: Option<&str>| word.map(|word| word.as_bytes().to_vec());
        let flag = |is_set: bool| is_set.then(|| vec![1]);
        match setting {
            Setting::CallBackUrl => text(&self.url),
            Setting::CallBackMethod => word(self.method.map(Word::word)),
            Setting::CallBackHeaders => text(&self.headers),
            Setting::CallBackBody => text(&self.body),
            Setting::CallBackTimeout => narrow(self.timeout_ms),
            Setting::CallBackConcurrency => narrow(self.concurrency),
            Setting::CallBackRate => narrow(self.per_second_max),
            Setting::CallBackSecrets => text(&self.secrets),
            Setting::CallBackRefused => word(self.refused.map(Word::word)),
            Setting::CallBackRetryIf => text(&self.retry_if),
            Setting::CallBackSuccess => word(self.success.map(Word::word)),
            Setting::CallBackOfJob => flag(self.of_job),
            Setting::CallBackLog => wide(self.log_ms),
            Setting::CallBackPaused => flag(self.paused),
            Setting::CallBackDelay => wide(self.delay_ms),
            _ => None,
        }
    }

    // As in a policy, a bound may only widen.
    pub(super) fn put(&mut self, setting: Setting, value: &[u8]) -> Result<(), PolicyError> {
        let wrong = PolicyError::OutOfRange { setting };
        let text = |most: usize| {
            let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= most);
            text.map(str::to_owned).ok_or(wrong)
        };
        let narrow = || setting.bounded(read_u32(value));
        let wide = || setting.bounded(read_u64(value));
        let flag = || if value == [1] { Ok(true) } else { Err(wrong) };
        match setting {
            Setting::CallBackUrl => {
                let url = text(CALL_BACK_URL_BYTES_MAX)?;
                HttpUrl::read(&url)?;
                Template::read(&url)?;
                self.url = Some(url);
            }
            Setting::CallBackMethod => self.method = Some(Method::read(value).ok_or(wrong)?),
            Setting::CallBackHeaders => {
                let lines = text(CALL_BACK_HEADERS_BYTES_MAX)?;
                if !lines.lines().all(is_header) || lines.is_empty() {
                    return Err(wrong);
                }
                Template::read(&lines)?;
                self.headers = Some(lines);
            }
            Setting::CallBackBody => {
                let body = text(CALL_BACK_BODY_BYTES_MAX)?;
                Template::read(&body)?;
                self.body = Some(body);
            }
            Setting::CallBackTimeout => {
                self.timeout_ms = Some(narrow()?);
            }
            Setting::CallBackConcurrency => self.concurrency = Some(narrow()?),
            Setting::CallBackRate => self.per_second_max = Some(narrow()?),
            Setting::CallBackSecrets => {
                let name = text(CALL_BACK_SECRETS_BYTES_MAX)?;
                let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
                self.secrets = Some(if is_name && !name.is_empty() { name } else { return Err(wrong) });
            }
            Setting::CallBackRefused => self.refused = Some(Refused::read(value).ok_or(wrong)?),
            Setting::CallBackRetryIf => {
                let condition = text(CALL_BACK_CONDITION_BYTES_MAX)?;
                Condition::read(&condition)?;
                self.retry_if = Some(condition);
            }
            Setting::CallBackSuccess => self.success = Some(Success::read(value).ok_or(wrong)?),
            Setting::CallBackOfJob => self.of_job = flag()?,
            Setting::CallBackLog => self.log_ms = Some(wide()?),
            Setting::CallBackPaused => self.paused = flag()?,
            Setting::CallBackDelay => self.delay_ms = Some(wide()?),
            _ => return Err(PolicyError::Unsupported(setting as u16)),
        }
        Ok(())
    }

    pub(super) fn take(&mut self, setting: Setting) {
        match setting {
            Setting::CallBackUrl => self.url = None,
            Setting::CallBackMethod => self.method = None,
            Setting::CallBackHeaders => self.headers = None,
            Setting::CallBackBody => self.body = None,
            Setting::CallBackTimeout => self.timeout_ms = None,
            Setting::CallBackConcurrency => self.concurrency = None,
            Setting::CallBackRate => self.per_second_max = None,
            Setting::CallBackSecrets => self.secrets = None,
            Setting::CallBackRefused => self.refused = None,
            Setting::CallBackRetryIf => self.retry_if = None,
            Setting::CallBackSuccess => self.success = None,
            Setting::CallBackOfJob => self.of_job = false,
            Setting::CallBackLog => self.log_ms = None,
            Setting::CallBackPaused => self.paused = false,
            Setting::CallBackDelay => self.delay_ms = None,
            _ => {}
        }
    }
}

/// True for a line `Name: value` whose name is neither reserved for framing the request nor for the queue's own headers.
fn is_header(line: &str) -> bool {
    const OWN: [&str; 7] =
        ["connection", "content-length", "host", "keep-alive", "te", "transfer-encoding", "upgrade"];
    const OF_QUEUE: [&str; 2] = ["adjourn-", "webhook-"];
    let Some((name, value)) = line.split_once(':') else { return false };
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let small = name.to_ascii_lowercase();
    let is_free =
        !OWN.contains(&small.as_str()) && !OF_QUEUE.iter().any(|of_queue| small.starts_with(of_queue));
    !name.is_empty() && name.bytes().all(is_of_name) && is_free && !value.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_that_neither_frame_the_request_nor_speak_for_the_queue() {
        assert!(is_header("X-A: {id}") && is_header("authorization:Bearer x"));
        for line in [
            "",
            "x",
            ": x",
            "a b: c",
            "Host: x",
            "content-length: 1",
            "Transfer-Encoding: chunked",
            "a: \r",
            "Adjourn-Lease: 1-1",
            "webhook-id: x",
            "Webhook-Signature: v1,x",
        ] {
            assert!(!is_header(line), "{line}");
        }
    }
}
