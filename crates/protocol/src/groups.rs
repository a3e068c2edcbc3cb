//! Requests about the groups of a topic's jobs, and about what holds jobs back; `GROUPS` and `REASONS`.

use bytes::BytesMut;

use super::codes::choices::pause;
use super::decode_error::DecodeError;
use super::field::{Field, Subject};
use super::layout::{frames, records};
use super::wire::{self, Reader, in_range, not_longer, text, text8, time};
use adjourn_types::limits::{GROUP_BYTES_MAX, GROUP_WEIGHT_MAX, GROUPS_LISTED_MAX};
use adjourn_types::{GroupName, Millis, TopicName, Why};

/// Changes the settings of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSet {
    /// Its topic.
    pub topic: TopicName,
    /// Its name.
    pub group: GroupName,
    /// How many jobs it gives at a turn, 1 to [`GROUP_WEIGHT_MAX`]; `None`: as before.
    pub weight: Option<u32>,
    /// True to pause it, false to resume it.
    pub paused: Option<bool>,
}

/// Asks for a page of the groups of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupList {
    /// Their topic.
    pub topic: TopicName,
    /// Only those with names after this one; empty for the first page, and then what the page before says.
    pub after: String,
    /// Only those whose names begin like this.
    pub prefix: String,
    /// At most this many: 1 to [`GROUPS_LISTED_MAX`].
    pub groups_max: u32,
}

/// A page of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPage {
    /// By name.
    pub groups: Vec<GroupReport>,
    /// Where the next page begins; `None` on the last one.
    pub after: Option<String>,
}

/// Where a group stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupReport {
    /// Its name.
    pub name: String,
    /// Its jobs that wait for a consumer.
    pub ready: u64,
    /// Its jobs that a consumer has.
    pub reserved: u64,
    /// For how long the next of them has been ready, in milliseconds; 0 if none is.
    pub oldest_ms: u64,
    /// How many jobs it gives at a turn.
    pub weight: u32,
    /// True if an operator paused it.
    pub paused: bool,
    /// What holds it back; [`Why::Next`] for nothing.
    pub hold: Why,
    /// When that ends, if it is known.
    pub until: Option<Millis>,
}

/// One reason why a job, a topic or a group gives nothing now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The reason.
    pub why: Why,
    /// When it began, if that is known.
    pub since: Option<Millis>,
    /// When it ends, if that is known.
    pub until: Option<Millis>,
    /// How many jobs come first, or how many leases there are, where the reason is about them; else 0.
    pub jobs: u64,
    /// One sentence for a person.
    pub text: String,
}

impl GroupReport {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}

impl Reason {
    /// How many bytes it holds in memory and on the wire, roughly.
    pub fn weight_bytes(&self) -> usize {
        size_of::<Self>() + self.text.len()
    }
}

impl Field for GroupSet {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::GroupSet {
            weight: self.weight.unwrap_or(0),
            pause: match self.paused {
                None => pause::KEEP,
                Some(true) => pause::PAUSE,
                Some(false) => pause::RESUME,
            },
            topic: self.topic.as_str().as_bytes(),
            group: self.group.as_str().as_bytes(),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::GroupSet::take(reader)?;
        let paused = match frame.pause {
            pause::KEEP => None,
            pause::PAUSE => Some(true),
            pause::RESUME => Some(false),
            value => return Err(DecodeError::Choice { field: "pause", value }),
        };
        let group = GroupName::new(frame.group).map_err(DecodeError::Name)?;
        let weight = Some(frame.weight).filter(|weight| *weight > 0);
        Ok(Self { topic: wire::topic(frame.topic)?, group, weight, paused })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        in_range(self.weight.unwrap_or(1), 1..=GROUP_WEIGHT_MAX, "weight")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        Self { topic: self.topic.detached(), group: self.group.detached(), ..self }
    }
}

impl Field for GroupList {
    fn put(&self, out: &mut BytesMut) {
        let frame = frames::GroupList {
            groups_max: self.groups_max,
            topic: self.topic.as_str().as_bytes(),
            after: text8(&self.after),
            prefix: text8(&self.prefix),
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let frame = frames::GroupList::take(reader)?;
        let (after, prefix) = (text(&frame.after, "after")?, text(&frame.prefix, "prefix")?);
        Ok(Self { topic: wire::topic(frame.topic)?, after, prefix, groups_max: frame.groups_max })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.after.len(), GROUP_BYTES_MAX, "after")?;
        not_longer(self.prefix.len(), GROUP_BYTES_MAX, "prefix")?;
        in_range(self.groups_max, 1..=GROUPS_LISTED_MAX, "groups_max")
    }

    fn subject(&mut self) -> Subject<'_> {
        Subject::Topic(&self.topic)
    }

    fn detach(self) -> Self {
        Self { topic: self.topic.detached(), ..self }
    }
}

pub(crate) fn encode_page(page: &GroupPage, out: &mut BytesMut) {
    let groups = page.groups.iter().map(|group| records::GroupState {
        ready: group.ready,
        reserved: group.reserved,
        oldest_ms: group.oldest_ms,
        until_ms: group.until.map_or(0, |until| until.0),
        weight: group.weight,
        hold: group.hold as u8,
        paused: u8::from(group.paused),
        name: text8(&group.name),
    });
    frames::Groups { after: text8(page.after.as_deref().unwrap_or_default()), groups }.put(out);
}

pub(crate) fn decode_page(reader: &mut Reader<'_>) -> Result<GroupPage, DecodeError> {
    let frame = frames::Groups::take(reader, |group: records::GroupState<_>| {
        Ok(GroupReport {
            name: text(&group.name, "name")?,
            ready: group.ready,
            reserved: group.reserved,
            oldest_ms: group.oldest_ms,
            weight: group.weight,
            paused: group.paused != 0,
            hold: Why::from_u8(group.hold),
            until: time(group.until_ms),
        })
    })?;
    let after = text(&frame.after, "after")?;
    Ok(GroupPage { groups: frame.groups, after: Some(after).filter(|after| !after.is_empty()) })
}

pub(crate) fn encode_reasons(reasons: &[Reason], out: &mut BytesMut) {
    let reasons = reasons.iter().map(|reason| records::Reason {
        why: reason.why as u8,
        since_ms: reason.since.map_or(0, |since| since.0),
        until_ms: reason.until.map_or(0, |until| until.0),
        jobs: reason.jobs,
        text: reason.text.as_bytes(),
    });
    frames::Reasons { reasons }.put(out);
}

pub(crate) fn decode_reasons(reader: &mut Reader<'_>) -> Result<Vec<Reason>, DecodeError> {
    let frame = frames::Reasons::take(reader, |reason: records::Reason<_>| {
        let (since, until) = (time(reason.since_ms), time(reason.until_ms));
        let text = text(&reason.text, "text")?;
        Ok(Reason { why: Why::from_u8(reason.why), since, until, jobs: reason.jobs, text })
    })?;
    Ok(frame.reasons)
}
