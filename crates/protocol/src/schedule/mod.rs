//! Requests about schedules, and their answers.
//!
//! A server keeps the rules of a schedule in the form in which they are sent: see [`encode_rules`] and [`decode_rules`].

pub(crate) mod backfill;
mod position;
mod records;

use std::num::NonZeroU32;

use bytes::{Bytes, BytesMut};

use super::codes::choices::which_paused;
use super::decode_error::DecodeError;
use super::field::{Field, Subject, check_ttr};
use super::layout::frames;
use super::wire::{self, Reader, in_range, key_bytes, not_longer, text, text8, time, time_ms};
use adjourn_types::limits::{
    CURSOR_BYTES_MAX, INSTANTS_SHOWN_MAX, SCHEDULE_JITTER_MS_MAX, SCHEDULE_MISSED_MAX,
    SCHEDULE_NAME_BYTES_MAX, SCHEDULE_NOTE_BYTES_MAX, SCHEDULE_WHEN_BYTES_MAX, SCHEDULE_ZONE_BYTES_MAX,
    SCHEDULES_LISTED_MAX,
};
use adjourn_types::{
    AttributeError, Attributes, Firing, JobId, Key, Millis, PausedBy, ScheduleRules, TopicName, tag,
};
pub use position::SchedulePosition;
pub(crate) use records::{
    decode_filled, decode_instants, decode_list, decode_report, decode_scheduled, encode_filled,
    encode_instants, encode_list, encode_report, encode_scheduled,
};
pub use records::{decode_rules, encode_rules};
use records::{rules_of, rules_record, template_record};

/// The version that stands for a schedule that is not there.
const IF_NEW: u32 = u32::MAX;

/// What the jobs of a schedule have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobTemplate {
    /// As in [`NewJob`](super::NewJob::priority).
    pub priority: u32,
    /// As in [`NewJob`](super::NewJob::ttr_ms).
    pub ttr_ms: u32,
    /// As in [`NewJob`](super::NewJob::attributes).
    pub attributes: Attributes,
    /// The payload.
    pub body: Bytes,
}

/// When a schedule is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfVersion {
    /// In any case.
    #[default]
    Any,
    /// Only if there is none of its name.
    New,
    /// Only if it was set so often.
    Is(NonZeroU32),
}

/// Creates a schedule, or gives the one of its name another content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSet {
    /// The topic of its jobs.
    pub topic: TopicName,
    /// Its name, unique in the topic: 1 to [`SCHEDULE_NAME_BYTES_MAX`] bytes.
    pub name: String,
    /// When it fires.
    pub rules: Box<ScheduleRules>,
    /// Its jobs.
    pub template: JobTemplate,
    /// When it is set.
    pub if_version: IfVersion,
}

/// Which schedules. The default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleConditions {
    /// Only those whose names begin like this.
    pub prefix: String,
    /// Only those that are paused, or those that are not.
    pub paused: Option<bool>,
    /// Only those with a next instant before this one.
    pub next_before: Option<Millis>,
}

/// A change of a schedule that needs no more than its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleChange {
    /// It is forgotten; its jobs stay.
    Delete,
    /// It fires no more until it is resumed.
    Pause,
    /// It fires again.
    Resume,
}

impl ScheduleChange {
    /// True if a schedule that is paused like this is another one after the change. A pause may have a note.
    pub fn changes(self, paused: Option<PausedBy>, has_note: bool) -> bool {
        match self {
            Self::Delete => true,
            Self::Pause => has_note || paused != Some(PausedBy::User),
            Self::Resume => paused.is_some(),
        }
    }
}

/// Asks for a page of schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleList {
    /// The topic of their jobs; `None` for all topics.
    pub topic: Option<TopicName>,
    /// Which of them.
    pub conditions: ScheduleConditions,
    /// At most this many: 1 to [`SCHEDULES_LISTED_MAX`].
    pub schedules_max: u32,
    /// The cursor of the page before; empty for the first page.
    pub cursor: Bytes,
}

/// Asks for jobs for instants of a schedule in a time that has passed, or for their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFill {
    /// The topic of its jobs.
    pub topic: TopicName,
    /// Its name.
    pub name: String,
    /// The first time that counts.
    pub from: Millis,
    /// The last time that counts.
    pub to: Millis,
    /// It pushes nothing, and counts the instants.
    pub is_dry_run: bool,
}

/// What became of the instants of a [`ScheduleFill`], or of the first ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleFilled {
    /// Instants of the schedule in this part.
    pub instants: u32,
    /// Jobs that were pushed.
    pub pushed: u32,
    /// Instants whose job is in the topic already, by its key.
    pub kept: u32,
    /// Jobs that the topic's policy, or a limit of the queue, does not allow.
    pub refused: u32,
    /// Bytes of the bodies of all these jobs; 0 after a dry run.
    pub bytes: u64,
    /// From when the next part goes on; `None` after the last one.
    pub next: Option<Millis>,
}

/// Asks when a schedule would fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulePreview {
    /// When it fires. Without an origin, `@every` counts from the start, or else from `from`.
    pub rules: Box<ScheduleRules>,
    /// Only instants after this time; `None` for now.
    pub from: Option<Millis>,
    /// At most this many: 1 to [`INSTANTS_SHOWN_MAX`].
    pub instants_max: u32,
}

/// When a schedule would fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleInstants {
    /// The version and the origin of the zone data.
    pub zone_data: String,
    /// The next instants, in order, and what the clocks of the zone show: date, time, offset and abbreviation.
    pub instants: Vec<(Millis, String)>,
}

/// Where a schedule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleState {
    /// Its id.
    pub id: JobId,
    /// How often it was set.
    pub version: u32,
    /// Its next instant; `None` if there is none any more.
    pub next: Option<Millis>,
    /// True if that has come, and is about to be fired.
    pub has_come: bool,
    /// True if that has come, and waits until an earlier job has ended.
    pub is_held: bool,
    /// Why it does not fire at present. [`PausedBy::User`] also stands for a reason that only a newer server knows.
    pub paused: Option<PausedBy>,
    /// Instants at which it pushed a job.
    pub fired: u64,
    /// Its jobs that have not ended.
    pub running: u32,
    /// Jobs that failed one after another until now.
    pub failures: u32,
}

/// A schedule as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleReport {
    /// Where it stands.
    pub state: ScheduleState,
    /// What the user who paused it noted; empty for nothing.
    pub pause_note: String,
    /// When it fires.
    pub rules: ScheduleRules,
    /// Its jobs.
    pub template: JobTemplate,
    /// What it did of late, the oldest first; without what only a newer server knows.
    pub history: Vec<Firing>,
}

/// A page of schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulePage {
    /// Those of a topic in the order in which they were made. There may be fewer than were asked for, or none, and more on the next
    /// page.
    pub schedules: Vec<ListedSchedule>,
    /// Where the next page goes on; empty on the last one.
    pub cursor: Bytes,
}

/// A schedule on a page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSchedule {
    /// Where it stands.
    pub state: ScheduleState,
    /// What the user who paused it noted; empty for nothing.
    pub pause_note: String,
    /// When it fires.
    pub rules: ScheduleRules,
    /// The topic of its jobs.
    pub topic: TopicName,
    /// Its name.
    pub name: String,
}

impl ScheduleReport {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        const FIRING_BYTES: usize = 64;
        let template = self.template.attributes.as_bytes().len() + self.template.body.len();
        let texts = template + self.pause_note.len();
        rules_weight_bytes(&self.rules) + texts + FIRING_BYTES * self.history.len()
    }
}

impl ScheduleFilled {
    /// How many jobs it was to push, pushed or not; none after a dry run.
    pub fn jobs(&self) -> u64 {
        u64::from(self.pushed) + u64::from(self.kept) + u64::from(self.refused)
    }
}

impl ScheduleInstants {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        const INSTANT_BYTES: usize = 32;
        let texts: usize = self.instants.iter().map(|(_, local)| local.len()).sum();
        self.zone_data.len() + texts + INSTANT_BYTES * self.instants.len()
    }
}

impl ListedSchedule {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        let texts = self.topic.as_str().len() + self.name.len() + self.pause_note.len();
        rules_weight_bytes(&self.rules) + texts
    }
}

fn rules_weight_bytes(rules: &ScheduleRules) -> usize {
    const FIXED_BYTES: usize = 256;
    FIXED_BYTES + rules.when.len() + rules.zone.len() + rules.note.len() + key_bytes(rules.key.as_ref()).len()
}

impl Field for ScheduleSet {
    fn put(&self, out: &mut BytesMut) {
        let if_version = match self.if_version {
            IfVersion::Any => None,
            IfVersion::New => Some(IF_NEW),
            IfVersion::Is(version) => Some(version.get()),
        };
        let frame = frames::ScheduleSet {
            topic: self.topic.as_str().as_bytes(),
            name: text8(&self.name),
            rules: rules_record(&self.rules),
            template: template_record(&self.template),
            if_version,
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::ScheduleSet::take(reader)?;
        let if_version = match frame.if_version.and_then(NonZeroU32::new) {
            None => IfVersion::Any,
            Some(version) if version.get() == IF_NEW => IfVersion::New,
            Some(version) => IfVersion::Is(version),
        };
        Ok(Self {
            topic: wire::topic(frame.topic)?,
            name: text(&frame.name, "name")?,
            rules: Box::new(rules_of(frame.rules)?),
            template: JobTemplate {
                attributes: Attributes::unchecked(frame.template.attributes),
                priority: frame.template.priority,
                ttr_ms: frame.template.ttr_ms,
                body: frame.template.body,
            },
            if_version,
        })
    }

    fn check(&self, _: &'static str, body_bytes_max: usize) -> Result<(), DecodeError> {
        if self.name.is_empty() {
            return Err(DecodeError::Empty("name"));
        }
        not_longer(self.name.len(), SCHEDULE_NAME_BYTES_MAX, "name")?;
        check_rules(&self.rules)?;
        check_ttr(self.template.ttr_ms)?;
        not_longer(self.template.body.len(), body_bytes_max, "body")?;
        if Attributes::buried_of(self.template.attributes.as_bytes()).is_some() {
            return Err(AttributeError::NotOfSchedule(tag::BURIED).into());
        }
        Ok(self.template.attributes.check_new()?)
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        let JobTemplate { attributes, body, .. } = self.template;
        let key = self.rules.key.as_ref().map(Key::detached);
        Self {
            topic: self.topic.detached(),
            rules: Box::new(ScheduleRules { key, ..*self.rules }),
            template: JobTemplate {
                attributes: attributes.detached(),
                body: Bytes::copy_from_slice(&body),
                ..self.template
            },
            ..self
        }
    }
}

fn check_rules(rules: &ScheduleRules) -> Result<(), DecodeError> {
    if rules.when.is_empty() {
        return Err(DecodeError::Empty("when"));
    }
    not_longer(rules.when.len(), SCHEDULE_WHEN_BYTES_MAX, "when")?;
    not_longer(rules.zone.len(), SCHEDULE_ZONE_BYTES_MAX, "zone")?;
    not_longer(rules.note.len(), SCHEDULE_NOTE_BYTES_MAX, "note")?;
    in_range(rules.missed_max.map_or(0, NonZeroU32::get), 0..=SCHEDULE_MISSED_MAX, "missed_max")?;
    in_range(rules.jitter_ms, 0..=SCHEDULE_JITTER_MS_MAX, "jitter_ms")
}

impl Field for ScheduleList {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::ScheduleList {
            schedules_max: self.schedules_max,
            // 0 stands for all. Nothing is due before 1970.
            next_before_ms: self.conditions.next_before.map_or(0, |before| before.0.max(1)),
            paused: match self.conditions.paused {
                None => which_paused::ANY,
                Some(true) => which_paused::PAUSED,
                Some(false) => which_paused::ACTIVE,
            },
            topic: self.topic.as_ref().map_or("", TopicName::as_str).as_bytes(),
            prefix: text8(&self.conditions.prefix),
            cursor: &self.cursor,
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::ScheduleList::take(reader)?;
        let paused = match frame.paused {
            which_paused::ANY => None,
            which_paused::PAUSED => Some(true),
            which_paused::ACTIVE => Some(false),
            value => return Err(DecodeError::Choice { field: "paused", value }),
        };
        let prefix = text(&frame.prefix, "prefix")?;
        let conditions = ScheduleConditions { prefix, paused, next_before: time(frame.next_before_ms) };
        let topic = wire::some_topic(frame.topic)?;
        Ok(Self { topic, conditions, schedules_max: frame.schedules_max, cursor: frame.cursor })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.conditions.prefix.len(), SCHEDULE_NAME_BYTES_MAX, "prefix")?;
        not_longer(self.cursor.len(), CURSOR_BYTES_MAX, "cursor")?;
        in_range(self.schedules_max, 1..=SCHEDULES_LISTED_MAX, "schedules_max")
    }

    fn subject(&mut self) -> Subject<'_> {
        self.topic.as_ref().map_or(Subject::Nothing, Subject::Topic)
    }

    fn detach(self) -> Self {
        let topic = self.topic.as_ref().map(TopicName::detached);
        Self { topic, cursor: Bytes::copy_from_slice(&self.cursor), ..self }
    }
}

impl Field for ScheduleFill {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::ScheduleFill {
            from_ms: self.from.0,
            to_ms: self.to.0,
            dry_run: u8::from(self.is_dry_run),
            topic: self.topic.as_str().as_bytes(),
            name: text8(&self.name),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::ScheduleFill::take(reader)?;
        let is_dry_run = match frame.dry_run {
            0 => false,
            1 => true,
            value => return Err(DecodeError::Choice { field: "dry_run", value }),
        };
        let (topic, name) = (wire::topic(frame.topic)?, text(&frame.name, "name")?);
        Ok(Self { topic, name, from: Millis(frame.from_ms), to: Millis(frame.to_ms), is_dry_run })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.name.len(), SCHEDULE_NAME_BYTES_MAX, "name")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        Self { topic: self.topic.detached(), ..self }
    }
}

impl Field for SchedulePreview {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::SchedulePreview {
            rules: rules_record(&self.rules),
            from_ms: time_ms(self.from),
            instants_max: self.instants_max,
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::SchedulePreview::take(reader)?;
        let rules = Box::new(rules_of(frame.rules)?);
        Ok(Self { rules, from: time(frame.from_ms), instants_max: frame.instants_max })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        check_rules(&self.rules)?;
        in_range(self.instants_max, 1..=INSTANTS_SHOWN_MAX, "instants_max")
    }

    fn detach(self) -> Self {
        let key = self.rules.key.as_ref().map(Key::detached);
        Self { rules: Box::new(ScheduleRules { key, ..*self.rules }), ..self }
    }
}
