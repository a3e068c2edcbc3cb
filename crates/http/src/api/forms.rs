//! What the forms of the console become: the same as JSON with the same names. A field that is empty was not given.

use bytes::Bytes;

use super::super::caller::Caller;
use super::super::input::Pairs;
use super::super::problem::{Place, Problem, about};
use super::backfill::fill;
use super::edit::{edit_of, refuse_fixed};
use super::new_job::NewJobJson;
use super::push::push_part;
use super::schedule_rules::{NewScheduleJson, template_of};
use adjourn_calendar::ZoneData;
use adjourn_protocol::{
    Backfill, Edit, ErrorCode, ErrorReply, JobRef, JobTemplate, NewJob, PushResult, ScheduleFill,
};
use adjourn_types::{JobId, ScheduleRules, TopicName};

/// The field with a job's body.
const BODY: &str = "body";
/// The field with the type of the body.
const CONTENT_TYPE: &str = "content_type";
/// The field with headers: a line `Name: value` for each.
const HEADERS: &str = "headers";
/// How the fields of a schedule's jobs begin.
const OF_JOB: &str = "job.";

/// A form that describes a job, in parts.
struct JobForm {
    json: NewJobJson<'static>,
    body: Option<Bytes>,
    content_type: Option<String>,
}

impl JobForm {
    fn of(mut fields: Pairs) -> Result<Self, Problem> {
        let own = fields.split(&[BODY, CONTENT_TYPE, HEADERS]);
        // A text field of a form has no other kind of line ends.
        let body = own.has(BODY).then(|| own.first(BODY).replace("\r\n", "\n").into());
        let content_type = own.has(CONTENT_TYPE).then(|| own.first(CONTENT_TYPE).to_owned());
        let mut json: NewJobJson<'static> = fields.filled().read(Place::Parameter)?;
        for line in own.first(HEADERS).lines().filter(|line| !line.trim().is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| {
                let detail = "expected a line `Name: value` for each header";
                Problem::at(Place::Parameter(HEADERS.to_owned()), detail)
            })?;
            json.add_header(name.trim().to_owned(), value.trim().to_owned());
        }
        Ok(Self { json, body, content_type })
    }

    fn job(self) -> Result<NewJob, Problem> {
        let Self { json, body, content_type } = self;
        let content_type = content_type.as_deref().filter(|said| !said.is_empty());
        json.with_body(body.unwrap_or_default(), content_type)
            .map_err(|problem| problem.elsewhere(Place::Parameter))
    }
}

/// A job to be pushed.
///
/// # Errors
///
/// If a field is not valid.
pub fn new_job(fields: Pairs) -> Result<NewJob, Problem> {
    JobForm::of(fields)?.job()
}

/// Pushes a job. Returns its id; of one that was kept or postponed, that of the job that was there.
///
/// # Errors
///
/// If it is refused.
pub async fn push(caller: &Caller, topic: &TopicName, job: NewJob) -> Result<JobId, Problem> {
    let results = push_part(caller, topic, vec![job], None).await?;
    match results.first() {
        Some(
            PushResult::Pushed(id)
            | PushResult::Kept(id)
            | PushResult::Replaced(id)
            | PushResult::Postponed(id),
        ) => Ok(*id),
        Some(PushResult::Refused(code, job)) => {
            Err(Problem::from(ErrorReply::new(*code, about(*code))).about_job(*job))
        }
        None => Err(ErrorReply::new(ErrorCode::Unknown, about(ErrorCode::Unknown)).into()),
    }
}

/// An edit of a job. The body changes if there is a field for it, even an empty one; headers likewise.
///
/// # Errors
///
/// If a field is not valid, or none is given.
pub fn edit(job: JobRef, fields: Pairs) -> Result<Edit, Problem> {
    let filled = fields.clone().filled();
    let (has_body, has_headers) = (fields.has(BODY), fields.has(HEADERS));
    let given = |name: &str| if name == HEADERS { has_headers } else { filled.has(name) };
    refuse_fixed(given).map_err(|problem| problem.elsewhere(Place::Parameter))?;
    edit_of(job, JobForm::of(fields)?.job()?, has_body, given)
}

/// A schedule: its fields, and those of its jobs with the prefix `job.`.
///
/// # Errors
///
/// If a field is not valid, or this node does not know the zone.
pub fn schedule(mut fields: Pairs, zones: &ZoneData) -> Result<(ScheduleRules, JobTemplate), Problem> {
    let of_job: Vec<String> =
        fields.names().filter(|name| name.starts_with(OF_JOB)).map(str::to_owned).collect();
    let names: Vec<&str> = of_job.iter().map(String::as_str).collect();
    let (job, mut own) = (fields.split(&names), Pairs::default());
    for name in &of_job {
        for value in job.all(name) {
            own.add(name.trim_start_matches(OF_JOB).to_owned(), value.clone());
        }
    }
    let template = template_of(JobForm::of(own)?.job()?);
    let schedule: NewScheduleJson<'static> = fields.filled().read(Place::Parameter)?;
    let (rules, _) = schedule.parts(zones).map_err(|problem| problem.elsewhere(Place::Parameter))?;
    Ok((rules, template))
}

/// Pushes the jobs of a schedule for a time that has passed, or counts them.
///
/// # Errors
///
/// If the schedule has no instants that can be filled.
pub async fn backfill(caller: &Caller, time: ScheduleFill) -> Result<Backfill, Problem> {
    fill(caller, time).await.map_err(|problem| problem.elsewhere(Place::Parameter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::{AttributeSet, When};

    #[test]
    fn a_form_is_read_like_json() {
        let fields = "topic_key=&key=k&delay=15m&priority=&body=a%0D%0Ab&content_type=text%2Fplain&headers=Trace%3A+x%0D%0A";
        let job = new_job(Pairs::of_query(&fields.replace("topic_key=&", ""))).expect("a job");
        assert_eq!((&job.body[..], job.due), (&b"a\nb"[..], When::After(900_000)));
        let headers: Vec<_> = job.attributes.headers().collect();
        assert_eq!(headers, [("content-type", "text/plain"), ("Trace", "x")]);
        let wrong = new_job(Pairs::of_query("delay=soon")).expect_err("no delay");
        assert!(wrong.detail().starts_with("delay: "), "{}", wrong.detail());
        let wrong = new_job(Pairs::of_query("headers=none")).expect_err("no header");
        assert!(wrong.detail().starts_with("headers: "), "{}", wrong.detail());
    }

    #[test]
    fn an_edit_changes_what_is_filled_in() {
        let job = || JobRef::Id(JobId(7));
        let edit = |fields| super::edit(job(), Pairs::of_query(fields));
        let some = edit("priority=5&ttr=&delay=").expect("an edit");
        assert_eq!((some.priority, some.ttr_ms, some.due, some.body), (Some(5), None, None, None));
        let with = edit("body=&headers=").expect("an edit");
        assert_eq!((with.body.as_deref(), with.replaced.has(AttributeSet::HEADERS)), (Some(&b""[..]), true));
        assert!(edit("priority=").is_err(), "nothing is given");
        assert!(edit("key=other").is_err(), "a key stays");
    }
}
