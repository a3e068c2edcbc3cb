//! Groups of a topic: a list of them; one with what holds it back, its weight and its pause.

use askama::Template;
use form_urlencoded::Serializer;

use super::Answer;
use super::topics::{address, at};
use crate::form::Posted;
use crate::said::Said;
use crate::shown::segment;
use crate::texts::text;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_http::{Part, Parts2, Problem};
use adjourn_protocol::{GroupList, GroupPage, GroupReport, GroupSet, Reason, Request, TopicSettings};
use adjourn_types::limits::GROUP_WEIGHT_MAX;
use adjourn_types::{GroupName, TopicName, Why};

/// Groups on a page.
const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage {
    view: View,
    /// The address of the topic.
    of_topic: String,
    topic: String,
    /// True if the topic has a setting of groups.
    has_turns: bool,
    rows: Vec<GroupReport>,
    prefix: String,
    /// True if this is not the first page.
    is_later: bool,
    /// The last group of this page, if there are more.
    behind: Option<String>,
}

impl GroupsPage {
    /// The address of the list behind a group; of its first page behind none.
    fn at(&self, after: &str) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("prefix", &self.prefix).append_pair("after", after);
        format!("{}/groups?{}", self.of_topic, query.finish())
    }

    fn address(&self, group: &str) -> String {
        address_of(&self.of_topic, group)
    }

    fn hold(&self, group: &GroupReport) -> String {
        hold_text(&self.view, group.hold)
    }
}

/// The list of groups.
pub(super) async fn list(visitor: Visitor, Part(topic): Part<TopicName>) -> Answer {
    let settings: TopicSettings = visitor.ask(Request::TopicShow { topic: topic.clone() }).await?;
    let (prefix, after) = (visitor.query.first("prefix").to_owned(), visitor.query.first("after").to_owned());
    let is_later = !after.is_empty();
    let asked = GroupList { topic: topic.clone(), after, prefix: prefix.clone(), groups_max: PAGE };
    let found: GroupPage = visitor.ask(Request::GroupList(asked)).await?;
    page(&GroupsPage {
        view: visitor.view("topics"),
        of_topic: address(&topic),
        topic: topic.as_str().to_owned(),
        has_turns: settings.policy.groups.is_on(),
        rows: found.groups,
        prefix,
        is_later,
        behind: found.after,
    })
}

#[derive(Template)]
#[template(path = "group.html")]
struct OneGroupPage {
    view: View,
    /// The address of the topic.
    of_topic: String,
    /// Its own address.
    here: String,
    topic: String,
    has_turns: bool,
    report: GroupReport,
    reasons: Vec<Reason>,
    may_manage: bool,
    weight_max: u32,
}

impl OneGroupPage {
    /// The address of its jobs. Without a state, of all.
    fn jobs(&self, state: &str) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("topic", &self.topic).append_pair("group", &self.report.name);
        if !state.is_empty() {
            query.append_pair("state", state);
        }
        format!("/console/jobs?{}", query.finish())
    }
}

/// One group.
pub(super) async fn show(visitor: Visitor, Parts2(topic, group): Parts2<TopicName, GroupName>) -> Answer {
    let view = visitor.view("topics");
    let settings: TopicSettings = visitor.ask(Request::TopicShow { topic: topic.clone() }).await?;
    let name = group.as_str().to_owned();
    // Of the names that begin like this, its own is the first.
    let asked = GroupList { topic: topic.clone(), after: String::new(), prefix: name.clone(), groups_max: 1 };
    let found: GroupPage = visitor.ask(Request::GroupList(asked)).await?;
    let reasons = visitor.ask(Request::TopicWhy { topic: topic.clone(), group: name.clone() }).await?;
    let of_topic = address(&topic);
    page(&OneGroupPage {
        may_manage: view.may_manage(topic.as_str()),
        here: address_of(&of_topic, &name),
        topic: topic.as_str().to_owned(),
        has_turns: settings.policy.groups.is_on(),
        report: found.groups.into_iter().find(|group| group.name == name).unwrap_or_else(|| idle(name)),
        weight_max: GROUP_WEIGHT_MAX,
        of_topic,
        reasons,
        view,
    })
}

/// Changes the weight of a group, pauses or resumes it.
pub(super) async fn act(Parts2(topic, group): Parts2<TopicName, GroupName>, posted: Posted) -> Answer {
    let (weight, paused, said) = match posted.fields.first("do") {
        "pause" => (None, Some(true), Said::Paused),
        "resume" => (None, Some(false), Said::Resumed),
        "weight" => (Some(weight(posted.fields.first("weight"))?), None, Said::Saved),
        _ => return Err(Problem::malformed("there is no such action: load the page again")),
    };
    let here = address_of(&address(&topic), group.as_str());
    posted.visitor.ask::<()>(Request::GroupSet(GroupSet { topic, group, weight, paused })).await?;
    Ok(posted.done(&here, said, 0))
}

fn weight(text: &str) -> Result<u32, Problem> {
    let weight = text.trim().parse().ok().filter(|weight| (1..=GROUP_WEIGHT_MAX).contains(weight));
    weight.ok_or_else(|| at("weight", &format!("expected a whole number from 1 to {GROUP_WEIGHT_MAX}")))
}

/// A group that is not listed: it has no job that is ready or reserved, and no settings.
fn idle(name: String) -> GroupReport {
    GroupReport {
        name,
        ready: 0,
        reserved: 0,
        oldest_ms: 0,
        weight: 1,
        paused: false,
        hold: Why::Next,
        until: None,
    }
}

fn address_of(topic: &str, group: &str) -> String {
    format!("{topic}/groups/{}", segment(group))
}

/// What holds a group back, in words.
fn hold_text(view: &View, hold: Why) -> String {
    let told = match hold {
        Why::Next => "–",
        Why::GroupPaused => text("it is paused"),
        Why::GroupLeases => text("it has all its leases"),
        Why::GroupRate => text("it has used up its rate"),
        Why::GroupReserved => text("a job of it is reserved"),
        Why::GroupRetry => text("a job of it waits for its next attempt"),
        Why::GroupBuried => text("a job of it is buried"),
        other => other.name(),
    };
    view.say(told).to_owned()
}
