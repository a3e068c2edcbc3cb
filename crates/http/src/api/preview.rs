//! When a schedule would fire, by the zone data of this node. It asks no leader.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Field, Time, TimeMs, Whole, either_time, schema, schema_limit, schema_time_ms};
use super::super::input::QueryOf;
use super::super::problem::{Place, Problem, ProblemJson};
use super::schedule_rules::{DstJson, RecurrenceText, schema_recurrence};
use super::{Answer, ok};
use adjourn_calendar::{Calendar, Recurrence, Zone, ZoneData};
use adjourn_json::values::time_text;
use adjourn_server::wall;
use adjourn_types::Millis;

const COUNT_MAX: u64 = 1000;
const COUNT_DEFAULT: u32 = 5;

/// A schedule to look at, and how far.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PreviewQuery {
    /// When it fires: a cron expression, `@daily` and the like, `@every` with a duration, or `@at` with times.
    #[param(schema_with = schema_recurrence)]
    when: Field<RecurrenceText>,
    /// The time zone of a cron expression, and of the local times. The default is UTC.
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
    /// What happens when the clocks of the zone are changed.
    #[param(inline)]
    dst: Option<DstJson>,
    /// Shows the instants after this time. The default is now.
    #[param(schema_with = schema::<Time>, required = false)]
    from: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[param(schema_with = schema_time_ms, required = false)]
    from_ms: Option<TimeMs>,
    /// The time from which `@every` counts. The default is `from`.
    #[param(schema_with = schema::<Time>, required = false)]
    origin: Option<Field<Time>>,
    /// The same in milliseconds since 1970.
    #[param(schema_with = schema_time_ms, required = false)]
    origin_ms: Option<TimeMs>,
    /// At most this many instants.
    #[param(schema_with = schema_limit::<COUNT_MAX, COUNT_DEFAULT>, required = false)]
    count: Option<Whole<1, COUNT_MAX>>,
}

/// When a schedule would fire.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub(super) struct PreviewJson {
    /// The next instants, in order. There are fewer than were asked for if it fires no more.
    instants: Vec<InstantJson>,
    /// The version and the origin of the zone data.
    #[schema(example = "2026f, bundled")]
    zone_data: String,
}

/// An instant at which a schedule would fire.
#[derive(Serialize, ToSchema)]
#[schema(as = Instant)]
pub(super) struct InstantJson {
    /// When.
    #[schema(format = DateTime)]
    instant: String,
    /// What the clocks of the zone show: date, time, offset and abbreviation.
    #[schema(example = "2027-03-28 03:00:00 +02:00 CEST")]
    local: String,
}

/// Show when a schedule would fire
///
/// The member that is asked uses its own clock and zone data.
#[utoipa::path(
    get,
    path = "/v1/schedules/preview",
    operation_id = "preview_schedule",
    tag = "schedules",
    params(PreviewQuery),
    responses(
        (status = 200, description = "The next instants", body = PreviewJson, content_type = "application/json"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn preview(caller: Caller, QueryOf(query): QueryOf<PreviewQuery>) -> Answer {
    let shown = query.preview(caller.state().zones(), wall());
    ok(&shown.map_err(|problem| problem.elsewhere(Place::Parameter))?)
}

impl PreviewQuery {
    fn preview(self, zones: &ZoneData, now: Millis) -> Result<PreviewJson, Problem> {
        let from = either_time("from", self.from.as_ref(), self.from_ms)?.unwrap_or(now);
        let origin = either_time("origin", self.origin.as_ref(), self.origin_ms)?.unwrap_or(from);
        let wrong = |name: &str, error: &dyn std::error::Error| Problem::at_pointer(name, error.to_string());
        let recurrence = Recurrence::parse(&self.when.0, origin).map_err(|error| wrong("/when", &error))?;
        let zone = self.zone.map_or_else(|| Ok(Zone::utc()), |zone| zones.zone(&zone));
        let calendar = Calendar {
            zone: zone.map_err(|error| wrong("/zone", &error))?,
            dst: self.dst.unwrap_or_default().into(),
            ..Calendar::new(recurrence)
        };
        let count = self.count.map_or(COUNT_DEFAULT, Whole::narrow) as usize;
        let instants = calendar.preview(from, count);
        let instants =
            instants.map(|firing| InstantJson { instant: time_text(firing.at), local: firing.local });
        Ok(PreviewJson { instants: instants.collect(), zone_data: zones.to_string() })
    }
}
