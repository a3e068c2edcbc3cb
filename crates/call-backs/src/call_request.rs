//! The HTTP request of a call: the topic's settings for call-backs, filled in with a job.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use jiff::tz::TimeZone;

use super::destination::{Destination, NotADestination};
use super::filled::{Filled, Values, Within, filled_url, sendable};
use super::no_call_request::{BODY_BYTES_MAX, HEADERS_BYTES_MAX, NoCallRequest, URL_HEADER};
use adjourn_protocol::Delivered;
use adjourn_types::{CallBack, Condition, HttpUrlError, Method, Piece, Refused, Success, Template};

const TIMEOUT_MS_DEFAULT: u32 = 10_000;
const CONCURRENCY_DEFAULT: u32 = 16;
const LOG_MS_DEFAULT: u64 = 7 * 86_400_000;

/// A topic's settings, ready to be filled in.
#[derive(Debug)]
pub(super) struct Plan {
    url: Option<Template>,
    of_job: bool,
    method: Method,
    headers: Vec<(HeaderName, Template)>,
    body: Option<Template>,
    /// The content type of the body, unless the topic or the job sets one.
    body_type: &'static str,
    /// True if values are escaped for a JSON text in the body.
    body_is_json: bool,
    pub(super) timeout: Duration,
    pub(super) concurrency: u32,
    pub(super) per_second_max: Option<u32>,
    /// The name of the secrets that sign the calls.
    pub(super) secrets: Option<String>,
    pub(super) refused: Refused,
    pub(super) retry_if: Option<Condition>,
    pub(super) success: Success,
    pub(super) log_ms: u64,
    /// The time zone of `notify_time`.
    zone: TimeZone,
}

/// One call, ready to be sent.
#[derive(Debug)]
pub(super) struct CallRequest {
    pub(super) destination: Destination,
    /// True if the URL can differ from job to job.
    pub(super) is_of_job: bool,
    pub(super) request: Request<Full<Bytes>>,
    /// The body, which the signature covers.
    pub(super) body: Bytes,
    /// The bodies of the job and of the request, in bytes.
    pub(super) bodies_bytes: usize,
}

impl Plan {
    /// A plan from settings, which were checked when they were set.
    pub(super) fn new(call_back: &CallBack) -> Self {
        let template = |text: &String| Template::read(text).ok();
        let body = call_back.body.as_ref();
        let template_of_body = body.and_then(template);
        let begins = template_of_body.as_ref().and_then(|body| body.pieces().first());
        let body_is_json =
            matches!(begins, Some(Piece::Text(text)) if text.trim_start().starts_with(['{', '[']));
        let body_type = match body {
            Some(_) if body_is_json => "application/json",
            Some(body) if body.contains("{body.form") => "application/x-www-form-urlencoded",
            Some(_) => "text/plain; charset=utf-8",
            None => "application/octet-stream",
        };
        let headers = call_back.headers.iter().flat_map(|lines| lines.lines()).filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, Template::read(value.trim()).ok()?))
        });
        Self {
            url: call_back.url.as_ref().and_then(template),
            of_job: call_back.of_job,
            method: call_back.method.unwrap_or(Method::Post),
            headers: headers.collect(),
            body: template_of_body,
            body_type,
            body_is_json,
            timeout: Duration::from_millis(call_back.timeout_ms.unwrap_or(TIMEOUT_MS_DEFAULT).into()),
            concurrency: call_back.concurrency.unwrap_or(CONCURRENCY_DEFAULT),
            per_second_max: call_back.per_second_max,
            secrets: call_back.secrets.clone(),
            refused: call_back.refused.unwrap_or(Refused::Bury),
            retry_if: call_back.retry_if.as_ref().and_then(|text| Condition::read(text).ok()),
            success: call_back.success.unwrap_or(Success::Status),
            log_ms: call_back.log_ms.unwrap_or(LOG_MS_DEFAULT),
            zone: TimeZone::UTC,
        }
    }

    /// The same plan, with times of php-delayqueue in this zone.
    pub(super) fn in_zone(self, zone: TimeZone) -> Self {
        Self { zone, ..self }
    }

    /// True if all jobs go to one destination.
    pub(super) fn has_one_destination(&self) -> bool {
        !self.of_job
    }

    /// The HTTP method.
    pub(super) fn method(&self) -> &'static str {
        self.method.name()
    }

    /// The request for this job.
    pub(super) fn request(&self, job: &Delivered) -> Result<CallRequest, NoCallRequest> {
        let values = Values { job, zone: &self.zone };
        let own = job.attributes.headers().find(|(name, _)| name.eq_ignore_ascii_case(URL_HEADER));
        let own = own.filter(|_| self.of_job).map(|(_, url)| url.to_owned());
        let (url, is_of_job) = match (own, &self.url) {
            (Some(url), _) => (url, true),
            (None, Some(url)) => (filled_url(url, values)?, url.differs_by_job()),
            (None, None) => return Err(NoCallRequest::NoUrl),
        };
        let destination = Destination::read(&url)?;
        let within = if self.body_is_json { Within::Json } else { Within::Text };
        let body = match &self.body {
            _ if !self.method.has_body() => Bytes::new(),
            Some(body) => {
                let mut filled = Filled::new(BODY_BYTES_MAX, NoCallRequest::TooLarge);
                filled.fill(body, values, within)?;
                filled.into_bytes().into()
            }
            None => job.body.clone(),
        };
        let is_filled_in = self.body.is_some() && self.method.has_body();
        let bodies_bytes = job.body.len() + if is_filled_in { body.len() } else { 0 };
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = self.method.name().parse().unwrap_or(hyper::Method::POST);
        *request.uri_mut() =
            destination.path.parse().map_err(|_| NotADestination::Url(HttpUrlError::Character))?;
        self.put_headers(values, &destination, &mut request)?;
        Ok(CallRequest { destination, is_of_job, request, body, bodies_bytes })
    }

    fn put_headers(
        &self,
        values: Values<'_>,
        destination: &Destination,
        request: &mut Request<Full<Bytes>>,
    ) -> Result<(), NoCallRequest> {
        let job = values.job;
        let headers = request.headers_mut();
        let mut put = |name: HeaderName, value: &[u8]| match HeaderValue::from_bytes(value) {
            Ok(value) => {
                headers.insert(name, value);
                Ok(())
            }
            Err(_) => Err(NoCallRequest::Header(name)),
        };
        put(HOST, destination.origin.authority().as_bytes())?;
        put(USER_AGENT, concat!("adjourn/", env!("CARGO_PKG_VERSION")).as_bytes())?;
        if self.method.has_body() {
            let of_job = job.attributes.content_type().filter(|_| self.body.is_none());
            let said = of_job.map(str::as_bytes);
            // A job's content type may not be valid in a header.
            let said = said.filter(|said| HeaderValue::from_bytes(said).is_ok());
            put(CONTENT_TYPE, said.unwrap_or(self.body_type.as_bytes()))?;
        }
        put(HeaderName::from_static("adjourn-job"), job.lease.job.to_string().as_bytes())?;
        put(HeaderName::from_static("adjourn-topic"), job.topic.as_str().as_bytes())?;
        put(HeaderName::from_static("adjourn-attempt"), job.attempts.to_string().as_bytes())?;
        put(HeaderName::from_static("adjourn-due"), adjourn_json::values::time_text(job.due).as_bytes())?;
        put(HeaderName::from_static("adjourn-lease"), job.lease.to_string().as_bytes())?;
        if let Some(key) = &job.key {
            put(HeaderName::from_static("adjourn-key"), sendable(key.as_bytes()).as_bytes())?;
        }
        let mut bytes_left = HEADERS_BYTES_MAX;
        for (name, value) in &self.headers {
            let mut filled = Filled::new(bytes_left, NoCallRequest::HeadersTooLarge);
            filled.fill(value, values, Within::Header)?;
            let value = filled.into_bytes();
            bytes_left -= value.len();
            put(name.clone(), &value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::Value;

    use super::*;
    use adjourn_types::{Attributes, AttributesBuilder, Fence, JobId, Lease, Millis};

    pub(crate) fn job(body: &'static str, attributes: Attributes) -> Delivered {
        Delivered {
            lease: Lease { job: JobId(42), fence: Fence(7) },
            topic: "orders".parse().expect("a name"),
            key: Some("a \"b\"/ü".parse().expect("a key")),
            priority: 1,
            attempts: 2,
            due: Millis(1_700_000_000_000),
            ttr_left_ms: 30_000,
            deadline_ms: 0,
            attributes,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    fn call_back(url: &str) -> CallBack {
        CallBack { url: Some(url.to_owned()), ..CallBack::default() }
    }

    fn header<'a>(call: &'a CallRequest, name: &str) -> &'a str {
        call.request.headers().get(name).map_or("none", |value| value.to_str().expect("ASCII"))
    }

    #[test]
    fn a_job_is_sent_as_it_is() {
        let plan = Plan::new(&call_back("http://shop.example:8080/orders/{key}?n={attempt}"));
        let call = plan.request(&job("{\"a\":1}", Attributes::default())).expect("a request");
        assert_eq!(call.destination.origin.to_string(), "http://shop.example:8080");
        assert_eq!(call.request.uri(), "/orders/a%20%22b%22%2F%C3%BC?n=2");
        assert_eq!((call.request.method().as_str(), &call.body[..]), ("POST", &b"{\"a\":1}"[..]));
        for (name, value) in [
            ("host", "shop.example:8080"),
            ("content-type", "application/octet-stream"),
            ("adjourn-job", "42"),
            ("adjourn-topic", "orders"),
            ("adjourn-key", "a \"b\"/%C3%BC"),
            ("adjourn-attempt", "2"),
            ("adjourn-due", "2023-11-14T22:13:20.000Z"),
            ("adjourn-lease", "42-7"),
        ] {
            assert_eq!(header(&call, name), value, "{name}");
        }
    }

    #[test]
    fn templates_are_filled_in_for_where_they_stand() {
        let said = CallBack {
            headers: Some("X-Key: k={key}\nContent-Type: application/vnd.x+json".to_owned()),
            body: Some(
                r#"{"id":{id},"key":"{key}","text":{body.json},"raw":{body},"x":"{body.base64}"}"#.to_owned(),
            ),
            ..call_back("http://a/")
        };
        let call = Plan::new(&said).request(&job("[\"ü\"]", Attributes::default())).expect("a request");
        let body: Value = serde_json::from_slice(&call.body).expect("JSON");
        let expected = serde_json::json!(
            {"id": 42, "key": "a \"b\"/ü", "text": "[\"ü\"]", "raw": ["ü"], "x": BASE64_STANDARD.encode("[\"ü\"]")}
        );
        assert_eq!(body, expected);
        assert_eq!(header(&call, "x-key"), "k=a \"b\"/%C3%BC");
        assert_eq!(header(&call, "content-type"), "application/vnd.x+json");
    }

    #[test]
    fn fields_become_a_form() {
        let said = CallBack { body: Some("{body.form}".to_owned()), ..call_back("http://a/") };
        let fields = r#"{"a":"x y&z","n":5,"yes":true,"no":null,"o":{"k":[1,{"z":"ü"}]}}"#;
        let call = Plan::new(&said).request(&job(fields, Attributes::default())).expect("a request");
        assert_eq!(&call.body[..], b"a=x%20y%26z&n=5&yes=1&o%5Bk%5D%5B0%5D=1&o%5Bk%5D%5B1%5D%5Bz%5D=%C3%BC");
        assert_eq!(header(&call, "content-type"), "application/x-www-form-urlencoded");
        let refused = Plan::new(&said).request(&job("[1]", Attributes::default())).expect_err("no object");
        assert_eq!(refused, NoCallRequest::NoForm);
        let get = CallBack { method: Some(Method::Get), ..call_back("http://a/x?{body.form}") };
        let call = Plan::new(&get).request(&job(r#"{"a":1}"#, Attributes::default())).expect("a request");
        assert_eq!((call.request.uri().to_string().as_str(), call.body.len()), ("/x?a=1", 0));
        let again = CallBack { method: Some(Method::Get), ..call_back("http://a/x?{body.form.retries}") };
        let sent = |attempts| {
            let job = Delivered { attempts, ..job(r#"{"a":1}"#, Attributes::default()) };
            Plan::new(&again).request(&job).expect("a request").request.uri().to_string()
        };
        assert_eq!((sent(1).as_str(), sent(3).as_str()), ("/x?a=1", "/x?a=1&exp_notify_nums=2"));
    }

    #[test]
    fn a_form_of_php_delayqueue_has_its_values() {
        let said = CallBack { body: Some("{body.form.retries}".to_owned()), ..call_back("http://a/") };
        let zone = TimeZone::get("Asia/Shanghai").expect("tzdata");
        let plan = Plan::new(&said).in_zone(zone);
        let body = r#"{"z":null,"no":false,"yes":true,"f":1.0,"notify_time":"2023-11-15 06:00:00","in":{"notify_time":1},"a":"x"}"#;
        let sent = |attempts| {
            let job = Delivered { attempts, ..job(body, Attributes::default()) };
            String::from_utf8(plan.request(&job).expect("a request").body.to_vec()).expect("text")
        };
        let (before, behind) = ("z=&no=&yes=1&f=1&notify_time=", "&in%5Bnotify_time%5D=1&a=x");
        assert_eq!(sent(1), format!("{before}2023-11-15%2006%3A00%3A00{behind}"));
        assert_eq!(sent(2), format!("{before}2023-11-15%2006%3A13%3A20{behind}&exp_notify_nums=1"));
    }

    #[test]
    fn a_job_names_its_url_where_it_may() {
        let own =
            || AttributesBuilder::default().header("Call-Back", "http://b/x").build().expect("attributes");
        let origin = |plan: &CallBack, attributes| {
            Plan::new(plan).request(&job("", attributes)).map(|call| call.destination.origin.to_string())
        };
        assert_eq!(origin(&call_back("http://a"), own()).as_deref(), Ok("http://a"));
        let may = CallBack { of_job: true, ..call_back("http://a") };
        assert_eq!(origin(&may, own()).as_deref(), Ok("http://b"));
        assert_eq!(origin(&may, Attributes::default()).as_deref(), Ok("http://a"));
        let only = CallBack { of_job: true, ..CallBack::default() };
        assert_eq!(origin(&only, Attributes::default()), Err(NoCallRequest::NoUrl));
        let bad =
            AttributesBuilder::default().header("call-back", "file:///etc").build().expect("attributes");
        let scheme = NotADestination::Url(HttpUrlError::Scheme);
        assert_eq!(origin(&only, bad), Err(NoCallRequest::Destination(scheme)));
    }

    #[test]
    fn a_value_leads_to_no_other_path() {
        let call = |url: &str, key: Option<&str>| {
            let key = key.map(|key| key.parse().expect("a key"));
            let call =
                Plan::new(&call_back(url)).request(&Delivered { key, ..job("", Attributes::default()) });
            call.map(|call| call.request.uri().to_string())
        };
        let orders = |key| call("http://a/orders/{key}", key);
        assert_eq!(orders(None), Err(NoCallRequest::NoValue("key")));
        for key in [".", "..", "../x", "x/..", "x\\..\\y", "a/./b"] {
            let leaves = Err(NoCallRequest::Destination(NotADestination::Url(HttpUrlError::Dots)));
            assert_eq!(orders(Some(key)), leaves, "{key}");
        }
        let beside = call("http://a/{key}./x", Some("."));
        assert!(beside.is_err(), "together with what stands beside it");
        assert_eq!(call("http://a/{body}", Some("k")), Err(NoCallRequest::NoValue("body")));
        assert_eq!(orders(Some("..17")).as_deref(), Ok("/orders/..17"));
        assert_eq!(orders(Some("%2e%2e")).as_deref(), Ok("/orders/%252e%252e"));
        assert_eq!(call("http://a?k={key}&b={body}", None).as_deref(), Ok("/?k=&b="));
        assert_eq!(call("http://a?k={key}", Some("..")).as_deref(), Ok("/?k=.."));
    }

    #[test]
    fn a_template_makes_no_body_without_a_bound() {
        let body: &'static str = "x".repeat(1 << 20).leak();
        let call = |times: usize| {
            let said = CallBack { body: Some("{body}".repeat(times)), ..call_back("http://a/") };
            Plan::new(&said).request(&job(body, Attributes::default()))
        };
        assert_eq!(call(16).map(|call| call.bodies_bytes), Ok(17 << 20));
        assert_eq!(call(17).map(|call| call.bodies_bytes), Err(NoCallRequest::TooLarge));
        let plain = Plan::new(&call_back("http://a/")).request(&job(body, Attributes::default()));
        assert_eq!(plain.map(|call| call.bodies_bytes), Ok(1 << 20), "it is the job's own");
    }

    #[test]
    fn a_url_with_places_is_that_of_one_job() {
        let is_of_job = |url: &str| {
            Plan::new(&call_back(url)).request(&job("", Attributes::default())).map(|call| call.is_of_job)
        };
        assert_eq!(is_of_job("http://a/orders"), Ok(false));
        assert_eq!((is_of_job("http://a/orders/{key}"), is_of_job("http://a/?{id}")), (Ok(true), Ok(true)));
        assert_eq!((is_of_job("http://a?l={lease}"), is_of_job("http://a?b={body}")), (Ok(true), Ok(true)));
        let of_all = ["http://a/{topic}", "http://a/?n={attempt}", "http://a/{topic}?due={due_ms}"];
        assert_eq!(of_all.map(is_of_job), [Ok(false), Ok(false), Ok(false)]);
    }

    #[test]
    fn a_form_that_repeats_a_long_name_is_refused_before_it_is_made() {
        let name = "n".repeat(500 << 10);
        for items in ["1", "null", "\"x\"", "{\"y\":2}"].map(|item| vec![item; 250_000].join(",")) {
            let body: &'static str = format!("{{\"{name}\":[{items}]}}").leak();
            let form = CallBack { body: Some("{body.form}".to_owned()), ..call_back("http://a/") };
            let sent = Plan::new(&form).request(&job(body, Attributes::default()));
            let in_url =
                Plan::new(&call_back("http://a/?{body.form}")).request(&job(body, Attributes::default()));
            if items.starts_with("null") {
                assert_eq!(sent.map(|call| call.body), Ok(Bytes::new()), "there is nothing to send");
            } else {
                assert_eq!(sent.map(|call| call.bodies_bytes), Err(NoCallRequest::TooLarge));
                let too_long = NoCallRequest::Destination(NotADestination::TooLong);
                assert_eq!(in_url.map(|call| call.bodies_bytes), Err(too_long));
            }
        }
    }

    #[test]
    fn the_values_of_all_headers_have_one_bound() {
        let body: &'static str = "x".repeat(1000).leak();
        let call = |headers: usize| {
            let lines: Vec<String> = (0..headers).map(|number| format!("X-{number}: {{body}}")).collect();
            let said = CallBack { headers: Some(lines.join("\n")), ..call_back("http://a/") };
            Plan::new(&said).request(&job(body, Attributes::default()))
        };
        assert_eq!(header(&call(32).expect("a request"), "x-31").len(), 1000);
        let refused = call(33).expect_err("33,000 bytes").to_string();
        assert_eq!(refused, "the headers to be sent are larger than 32768 bytes");
    }
}
