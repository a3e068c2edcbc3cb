//! A cluster as JSON.

use serde::Serialize;
use utoipa::ToSchema;

use adjourn_protocol::{ClusterReport, MemberReport, Role};

/// The cluster as one node sees it. What it does not know is `null`.
#[derive(Serialize, ToSchema)]
#[schema(as = Cluster)]
pub struct ClusterJson<'a> {
    /// The node that reports.
    pub node: u64,
    /// Which cluster it is.
    pub cluster_id: String,
    /// The leader's number.
    pub leader: Option<u64>,
    /// The Raft term.
    pub term: u64,
    /// The last entry in the node's log.
    pub last: u64,
    /// The last entry that it knows to be committed.
    pub commit: u64,
    /// What all members can do.
    pub feature_level: u32,
    /// The members, voters first.
    pub members: Vec<MemberJson<'a>>,
}

/// One member of the cluster.
#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub struct MemberJson<'a> {
    /// Its number.
    pub node: u64,
    /// leader, voter or learner.
    pub role: &'static str,
    /// Where clients reach it.
    pub client_address: &'a str,
    /// Where the other members reach it.
    pub peer_address: &'a str,
    /// Whether the node that reports is connected to it.
    pub connected: bool,
    /// The last entry that it has on its disk.
    pub matched: Option<u64>,
    /// The last entry that it has applied.
    pub applied: Option<u64>,
    /// How many entries it lacks.
    pub lag: Option<u64>,
    /// How far its wall clock is ahead of that of the node that reports, in milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// Whether its state is that of the node that reports: same or differs.
    pub state: Option<&'static str>,
    /// After which entry.
    pub state_index: Option<u64>,
}

impl<'a> ClusterJson<'a> {
    /// A report as `adjourn cluster status --json` prints it.
    pub fn of(report: &'a ClusterReport) -> Self {
        Self {
            node: report.node,
            cluster_id: id_text(report.cluster_id),
            leader: report.leader,
            term: report.term,
            last: report.last,
            commit: report.commit,
            feature_level: report.feature_level,
            members: report.members.iter().map(|member| MemberJson::of(report, member)).collect(),
        }
    }
}

impl<'a> MemberJson<'a> {
    fn of(report: &ClusterReport, member: &'a MemberReport) -> Self {
        let (state, state_index) = compared(member).unzip();
        Self {
            node: member.node,
            role: role_text(member.role),
            client_address: &member.client_address,
            peer_address: &member.peer_address,
            connected: member.is_connected,
            matched: matched(member),
            applied: member.applied,
            lag: lag(report, member),
            clock_offset_ms: member.ahead_ms,
            state: state.map(|same| if same { "same" } else { "differs" }),
            state_index,
        }
    }
}

/// An id as hex digits.
pub fn id_text(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

/// The last entry in a member's log. A leader that has not heard from the member yet knows none.
pub fn matched(member: &MemberReport) -> Option<u64> {
    member.matched.filter(|matched| *matched > 0)
}

/// How many entries of the log a member is behind.
pub fn lag(report: &ClusterReport, member: &MemberReport) -> Option<u64> {
    matched(member).map(|matched| report.last.saturating_sub(matched))
}

/// True if a member's state is that of the reporting node, and after which entry; `None` before the first comparison.
pub fn compared(member: &MemberReport) -> Option<(bool, u64)> {
    member.same_state.filter(|_| member.audited > 0).map(|same| (same, member.audited))
}

/// The name of a role.
pub fn role_text(role: Role) -> &'static str {
    match role {
        Role::Learner => "learner",
        Role::Voter => "voter",
        Role::Leader => "leader",
    }
}
