//! The form that sets a schedule: a new one, or one that there is. A preview changes nothing.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::Answer;
use super::super::topics::at;
use super::{Upcoming, address, list_of, upcoming, words};
use crate::form::{Posted, is_line};
use crate::said::Said;
use crate::shown::header_lines;
use crate::view::{View, html};
use crate::visitor::Visitor;
use adjourn_http::{Pairs, Parts2, Problem, schedule};
use adjourn_json::ScheduleJson;
use adjourn_json::values::spelled;
use adjourn_protocol::{
    ErrorCode, ErrorReply, IfVersion, JobTemplate, Request, ScheduleReport, ScheduleSet, Scheduled,
};
use adjourn_types::{AttributesBuilder, CONTENT_TYPE, ScheduleRules, TopicName, tag};

/// The fields that are about the form, not about the schedule.
const OF_FORM: [&str; 6] = ["topic", "name", "version", "preview", "body_bytes", "keep_body"];
/// The attributes of jobs that the form has fields for. Others stay as they are.
const SHOWN: [u16; 6] =
    [tag::HEADER, tag::EXPIRES, tag::ATTEMPTS_MAX, tag::BACKOFF, tag::GROUP, tag::DEDUPE_RETENTION];
/// A longer body is not shown in a form, in bytes: when it is posted it may take six times as much.
const BODY_SHOWN_MAX: usize = 32 << 10;

#[derive(Template)]
#[template(path = "schedule_form.html")]
struct FormPage {
    view: View,
    /// Where it is posted.
    action: String,
    /// Where the person goes if they set nothing.
    back: String,
    is_new: bool,
    fields: Pairs,
    problem: Option<String>,
    preview: Option<Preview>,
}

/// When it would fire.
struct Preview {
    words: Option<String>,
    instants: Vec<Upcoming>,
    zone_data: String,
}

/// What became of a form.
enum Taken {
    /// The schedule is set: its address.
    Set(String),
    /// It was only looked at.
    Previewed(Preview),
}

impl FormPage {
    fn value(&self, name: &str) -> &str {
        self.fields.first(name)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.value(name) == value
    }

    /// The length of a body that stays unless another one is filled in.
    fn kept_bytes(&self) -> Option<u64> {
        self.value("body_bytes").parse().ok()
    }
}

/// The form for a new schedule.
pub(crate) async fn new(visitor: Visitor) -> Answer {
    let view = visitor.view("schedules");
    check_may_set(view.may_manage_some())?;
    let mut fields = Pairs::default();
    for name in ["topic", "name", "when", "zone"] {
        fields.add(name.to_owned(), visitor.query.first(name).to_owned());
    }
    let topic = fields.first("topic").parse().ok();
    form(view, StatusCode::OK, topic.as_ref(), true, fields, None, None)
}

/// The form for a schedule that there is.
pub(crate) async fn edit(visitor: Visitor, Parts2(topic, name): Parts2<TopicName, String>) -> Answer {
    let view = visitor.view("schedules");
    check_may_set(view.may_manage(topic.as_str()))?;
    let asked = Request::ScheduleShow { topic: topic.clone(), name: name.clone() };
    let report: ScheduleReport = visitor.ask(asked).await?;
    let fields = fields_of(&topic, &name, &report);
    form(view, StatusCode::OK, Some(&topic), false, fields, None, None)
}

/// Makes a schedule.
pub(crate) async fn create(posted: Posted) -> Answer {
    let topic = posted.fields.first("topic").trim().to_owned();
    taken(posted, &topic, true).await
}

/// Gives a schedule other rules.
pub(crate) async fn set(Path(topic): Path<String>, posted: Posted) -> Answer {
    taken(posted, &topic, false).await
}

/// Takes a form. If something is wrong, the person gets it back with all that was filled in.
async fn taken(posted: Posted, topic: &str, is_new: bool) -> Answer {
    let (status, problem, preview) = match set_or_preview(&posted, topic, is_new).await {
        Ok(Taken::Set(address)) => return Ok(posted.done(&address, Said::Saved, 0)),
        Ok(Taken::Previewed(preview)) => (StatusCode::OK, None, Some(preview)),
        Err(problem) => (problem.status(), Some(problem.detail()), None),
    };
    let (view, topic) = (posted.visitor.view("schedules"), topic.parse().ok());
    form(view, status, topic.as_ref(), is_new, posted.fields, problem, preview)
}

fn form(
    view: View,
    status: StatusCode,
    topic: Option<&TopicName>,
    is_new: bool,
    fields: Pairs,
    problem: Option<String>,
    preview: Option<Preview>,
) -> Answer {
    let of_schedule = topic.filter(|_| !is_new).map(|topic| (topic, address(topic, fields.first("name"))));
    let (action, back, here) = if let Some((topic, schedule)) = of_schedule {
        let here = format!("{schedule}/edit");
        (format!("{}/schedules", super::topics::address(topic)), schedule, here)
    } else {
        let new = "/console/schedules/new".to_owned();
        (new.clone(), topic.map_or_else(|| "/console/schedules".to_owned(), list_of), new)
    };
    // A form that was posted has no address of its own.
    let view = View { here, ..view };
    let page = FormPage { view, action, back, is_new, fields, problem, preview };
    rendered(status, &page)
}

fn rendered(status: StatusCode, page: &FormPage) -> Answer {
    let text = page.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Unknown, error.to_string())
    })?;
    Ok::<Response, Problem>(html(status, text))
}

fn check_may_set(may: bool) -> Result<(), Problem> {
    if may {
        return Ok(());
    }
    let message =
        "to set a schedule takes a token with the right manage for its topic, and a console that may act";
    Err(ErrorReply::new(ErrorCode::Forbidden, message).into())
}

/// Sets a schedule, or shows when it would fire.
async fn set_or_preview(posted: &Posted, topic: &str, is_new: bool) -> Result<Taken, Problem> {
    let visitor = &posted.visitor;
    let mut fields = posted.fields.clone();
    let own = fields.split(&OF_FORM);
    let note = fields.split(&["note"]).first("note").replace("\r\n", "\n");
    fields.add("note".to_owned(), note);
    let (rules, template) = schedule(fields, visitor.console.http.zones())?;
    let is_preview = own.has("preview");
    if is_preview && is_new {
        return preview(visitor, &rules, 0).map(Taken::Previewed);
    }
    let topic: TopicName = topic.parse().map_err(|error| at("topic", &error))?;
    let name = own.first("name").to_owned();
    let address = address(&topic, &name);
    let (template, if_version) = if is_new {
        (template, IfVersion::New)
    } else {
        let asked = Request::ScheduleShow { topic: topic.clone(), name: name.clone() };
        let old: ScheduleReport = visitor.ask(asked).await?;
        if is_preview {
            return preview(visitor, &rules, old.state.fired).map(Taken::Previewed);
        }
        let version = own.first("version").parse().map_err(|error| at("version", &error))?;
        (with_hidden(template, &old.template, own.has("keep_body"))?, IfVersion::Is(version))
    };
    let set = ScheduleSet { topic, name, rules: Box::new(rules), template, if_version };
    visitor.ask::<Scheduled>(Request::ScheduleSet(set)).await?;
    Ok(Taken::Set(address))
}

fn preview(visitor: &Visitor, rules: &ScheduleRules, fired: u64) -> Result<Preview, Problem> {
    let zones = visitor.console.http.zones();
    let instants = upcoming(rules, visitor.view("").now, fired, zones);
    Ok(Preview {
        instants: instants.map_err(|error| at("when", &error))?,
        words: words::of(&rules.when, visitor.language),
        zone_data: zones.to_string(),
    })
}

/// Adds to the jobs of a form what it does not show of the old ones.
fn with_hidden(new: JobTemplate, old: &JobTemplate, keeps_body: bool) -> Result<JobTemplate, Problem> {
    let mut attributes = AttributesBuilder::from(&new.attributes);
    for (found, value) in old.attributes.iter().filter(|(found, _)| !SHOWN.contains(found)) {
        attributes = attributes.raw(found, value.to_vec());
    }
    for (name, value) in old.attributes.headers().filter(|header| !is_line(*header)) {
        attributes = attributes.header(name, value);
    }
    let attributes = attributes.build().map_err(|error| at("job.headers", &error))?;
    let body = if keeps_body { old.body.clone() } else { new.body };
    Ok(JobTemplate { attributes, body, ..new })
}

/// True if a field of a form can be this body.
fn is_text(body: &[u8]) -> bool {
    let is_plain = |text: &str| !text.contains(|one: char| one.is_control() && one != '\n' && one != '\t');
    body.len() <= BODY_SHOWN_MAX && std::str::from_utf8(body).is_ok_and(is_plain)
}

/// The fields of a schedule that there is.
fn fields_of(topic: &TopicName, name: &str, report: &ScheduleReport) -> Pairs {
    let shown = ScheduleJson::of(topic.as_str(), name, report);
    let rules = &shown.rules;
    let mut fields = Pairs::default();
    let mut add = |name: &str, value: Option<String>| {
        fields.add(name.to_owned(), value.unwrap_or_default());
    };
    add("topic", Some(topic.as_str().to_owned()));
    add("name", Some(name.to_owned()));
    add("version", Some(shown.version.to_string()));
    // A field has one line.
    add("when", Some(rules.when.replace(['\r', '\n'], " ")));
    add("zone", Some(rules.zone.to_owned()));
    add("note", Some(rules.note.to_owned()));
    add("dst", Some(rules.dst.to_owned()));
    add("missed", Some(rules.missed.to_owned()));
    add("overlap", Some(rules.overlap.to_owned()));
    add("origin", rules.origin.clone());
    add("start", rules.start.clone());
    add("end", rules.end.clone());
    add("count", rules.count.map(|count| count.to_string()));
    add("jitter", rules.jitter_ms.map(|jitter| spelled(jitter.get().into())));
    add("missed_window", rules.missed_window_ms.map(|window| spelled(window.get())));
    add("missed_max", rules.missed_max.map(|most| most.to_string()));
    add("failures_max", rules.failures_max.map(|failures| failures.to_string()));
    add("key", rules.key.map(str::to_owned));
    if let Some(job) = &shown.job {
        add("job.priority", job.priority.map(|priority| priority.to_string()));
        add("job.ttr", job.ttr_ms.map(|ttr| spelled(ttr.get().into())));
        add("job.attempts_max", job.attempts_max.map(|attempts| attempts.to_string()));
        add("job.backoff", job.backoff.clone());
        add("job.expires", job.expires.clone());
        add("job.remember", job.remember_ms.map(|remember| spelled(remember.get())));
        add("job.group", job.group.map(str::to_owned));
    }
    let (content_type, headers) = headers_of(&report.template);
    add("job.content_type", content_type);
    add("job.headers", Some(headers));
    match std::str::from_utf8(&report.template.body) {
        Ok(text) if is_text(text.as_bytes()) => add("job.body", Some(text.to_owned())),
        _ => {
            add("body_bytes", Some(report.template.body.len().to_string()));
            add("keep_body", Some("yes".to_owned()));
        }
    }
    fields
}

/// The content type of the jobs, and their other headers, a line for each.
fn headers_of(template: &JobTemplate) -> (Option<String>, String) {
    let is_type = |name: &str| name.eq_ignore_ascii_case(CONTENT_TYPE);
    let lines = || template.attributes.headers().filter(|header| is_line(*header));
    let mut types = lines().filter(|(name, _)| is_type(name)).map(|(_, value)| value);
    // A type that stands there twice stays among the headers, as an empty one does.
    let content_type = types.next().filter(|first| types.next().is_none() && !first.is_empty());
    let others = lines().filter(|(name, _)| content_type.is_none() || !is_type(name));
    (content_type.map(str::to_owned), header_lines(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_calendar::ZoneData;
    use adjourn_protocol::ScheduleState;
    use adjourn_types::limits::PRIORITY_UNSAID;
    use adjourn_types::{Backoff, BackoffCurve, Dst, JobId, Millis, Missed, Overlap, When};

    fn report(template: JobTemplate) -> ScheduleReport {
        let rules = ScheduleRules {
            when: "@every 90s".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            dst: Dst::Literal,
            origin: Some(Millis(1000)),
            start: Some(Millis(2000)),
            end: Some(Millis(3000)),
            count: 4.try_into().ok(),
            jitter_ms: 90_000,
            missed: Missed::All,
            window_ms: 6_000.try_into().ok(),
            missed_max: 7.try_into().ok(),
            overlap: Overlap::QueueOne,
            failures_max: 8,
            key: "k".parse().ok(),
            note: "why".to_owned(),
        };
        let state = ScheduleState {
            id: JobId(7),
            version: 2,
            next: None,
            has_come: false,
            is_held: false,
            paused: None,
            fired: 3,
            running: 1,
            failures: 0,
        };
        ScheduleReport { state, pause_note: String::new(), rules, template, history: Vec::new() }
    }

    /// The schedule that an edit sets if nothing is changed in the form.
    fn set_again(report: &ScheduleReport) -> (ScheduleRules, JobTemplate) {
        let topic: TopicName = "reports".parse().expect("a topic");
        let mut fields = fields_of(&topic, "nightly", report);
        let own = fields.split(&OF_FORM);
        let (rules, template) = schedule(fields, &ZoneData::bundled()).expect("a schedule");
        let template = with_hidden(template, &report.template, own.has("keep_body")).expect("valid jobs");
        (rules, template)
    }

    #[test]
    fn an_edit_without_a_change_changes_nothing() {
        let waits =
            Backoff { curve: BackoffCurve::Exponential { first_ms: 1000, max_ms: 9000 }, jitter_percent: 5 };
        let attributes = AttributesBuilder::default()
            .header("content-type", "application/json")
            .header("a", "1")
            .header("a", "2")
            .expires(When::After(5_400_000))
            .attempts_max(3)
            .backoff(&waits)
            .group("tenant 7")
            .dedupe_retention(9000);
        let full = JobTemplate {
            priority: 1,
            ttr_ms: 2500,
            attributes: attributes.build().expect("attributes"),
            body: "\n{\"a\":\t1}\n".into(),
        };
        let plain = JobTemplate { priority: PRIORITY_UNSAID, ..JobTemplate::default() };
        for template in [full, plain] {
            let report = report(template);
            assert_eq!(set_again(&report), (report.rules.clone(), report.template.clone()));
        }
    }

    #[test]
    fn what_a_form_cannot_show_stays() {
        let attributes = AttributesBuilder::default()
            .header("plain", "x")
            .header("two", "lines\nof text")
            .header("with: colon", "x")
            .raw(tag::CREATED_AT, 5_u64.to_le_bytes().to_vec())
            .build()
            .expect("attributes");
        for body in [&b"\xff\x00"[..], b"a\r\nb", &vec![b'x'; BODY_SHOWN_MAX + 1]] {
            let body = bytes::Bytes::copy_from_slice(body);
            let report =
                report(JobTemplate { attributes: attributes.clone(), body, ..JobTemplate::default() });
            let (_, template) = set_again(&report);
            assert_eq!(template, report.template);
        }
    }
}
