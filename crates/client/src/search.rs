//! The search for the leader: which address to try next, and how long to wait for its answer.
//!
//! The search proceeds in rounds. A round tries each address once: the address that the last server named, the
//! configured ones, the members. If a server that does not lead names the leader, that address is tried next; an
//! address that did not answer is tried last in the next round.
//!
//! It does no IO and reads no clock.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use adjourn_protocol::{ErrorReply, Member};

/// The hints of a server that does not lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// The leader's address.
    pub(crate) leader: Option<String>,
    /// The pause before the next attempt, in milliseconds.
    pub(crate) retry_after_ms: u32,
}

/// The addresses of one client.
#[derive(Debug)]
pub(crate) struct Search {
    configured: Vec<String>,
    /// The addresses to try in this round, in order.
    ahead: VecDeque<String>,
    /// The addresses tried in this round.
    tried: Vec<String>,
    /// The addresses that did not answer the last attempt.
    silent: Vec<String>,
    rounds: u32,
    /// HELLOs with a session that were given up without an answer. A server may still receive one later, and then reports
    /// to the newer connection that the session was taken over.
    hellos_given_up: u32,
}

impl Elsewhere {
    /// Adds the hints of another server. The newest hint about the leader is kept.
    pub(crate) fn heed(&mut self, reply: &ErrorReply) {
        if reply.leader.is_some() {
            self.leader.clone_from(&reply.leader);
        }
        self.retry_after_ms = self.retry_after_ms.max(reply.retry_after_ms);
    }
}

impl Search {
    /// A search over these addresses, and those in the hints of servers.
    pub(crate) fn new(configured: Vec<String>) -> Self {
        Self {
            configured,
            ahead: VecDeque::new(),
            tried: Vec::new(),
            silent: Vec::new(),
            rounds: 0,
            hellos_given_up: 0,
        }
    }

    /// Notes that a HELLO was given up that a server may still receive.
    pub(crate) fn gave_up_hello(&mut self) {
        self.hellos_given_up = self.hellos_given_up.saturating_add(1);
    }

    /// Called when the session was taken over. True if a HELLO of this client may have done it; each does that once.
    pub(crate) fn took_itself_over(&mut self) -> bool {
        let may_have = self.hellos_given_up > 0;
        self.hellos_given_up = self.hellos_given_up.saturating_sub(1);
        may_have
    }

    /// Begins a round.
    pub(crate) fn begin(&mut self, hint: Option<&str>, members: &[Member]) {
        self.rounds = self.rounds.saturating_add(1);
        self.tried.clear();
        self.ahead.clear();
        let hint = hint.into_iter().filter(|address| is_somewhere(address));
        let configured = self.configured.iter().map(String::as_str);
        let members = members.iter().map(|member| member.address.as_str());
        let members = members.filter(|address| is_somewhere(address));
        for address in hint.chain(configured).chain(members) {
            if !self.ahead.iter().any(|known| known == address) {
                self.ahead.push_back(address.to_owned());
            }
        }
        self.ahead.make_contiguous().sort_by_key(|address| self.silent.contains(address));
    }

    /// The next address of this round.
    pub(crate) fn next(&mut self) -> Option<String> {
        let address = self.ahead.pop_front()?;
        self.tried.push(address.clone());
        Some(address)
    }

    /// How long to wait for the answer of the current address, if `limit` is the time for all. While other addresses
    /// are left, it is a part of that: a server that is stuck must not hide one that leads.
    pub(crate) fn patience(&self, limit: Duration) -> Duration {
        let share = match self.rounds {
            _ if self.tried.len() + self.ahead.len() == 1 => 1,
            1 => 4,
            2 => 2,
            _ => 1,
        };
        limit / share
    }

    /// Follows a hint about the leader: tries it next, unless it was tried in this round or did not answer lately.
    pub(crate) fn redirect(&mut self, leader: &str) {
        if !is_somewhere(leader) || self.tried.iter().any(|address| address == leader) {
            return;
        }
        self.ahead.retain(|address| address != leader);
        if self.silent.iter().any(|address| address == leader) {
            self.ahead.push_back(leader.to_owned());
        } else {
            self.ahead.push_front(leader.to_owned());
        }
    }

    /// Notes that the address answered, even if only by refusing the connection.
    pub(crate) fn answered(&mut self, address: &str) {
        self.silent.retain(|silent| silent != address);
    }

    /// Notes that this address did not answer in time.
    pub(crate) fn silent(&mut self, address: String) {
        if !self.silent.contains(&address) {
            self.silent.push(address);
        }
    }

    /// Notes that the leader was found. A HELLO that was given up cannot take over a new session.
    pub(crate) fn found(&mut self, has_resumed: bool) {
        self.rounds = 0;
        if !has_resumed {
            self.hellos_given_up = 0;
        }
    }
}

/// True if a member's address can be connected to. 0.0.0.0 would be this machine.
fn is_somewhere(address: &str) -> bool {
    !address.is_empty() && !address.parse().is_ok_and(|at: SocketAddr| at.ip().is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_protocol::ErrorCode;

    fn begun(configured: &[&str]) -> Search {
        Search::new(configured.iter().map(|address| (*address).to_owned()).collect())
    }

    fn members<const N: usize>(addresses: [&str; N]) -> [Member; N] {
        addresses.map(|address| Member { node: 1, address: address.to_owned(), leader: false })
    }

    fn rest(search: &mut Search) -> Vec<String> {
        std::iter::from_fn(|| search.next()).collect()
    }

    #[test]
    fn hints_come_first_and_no_address_twice() {
        let mut search = begun(&["a:1", "b:1"]);
        search.begin(Some("b:1"), &members(["10.0.0.2:1", "0.0.0.0:1", "b:1", "[::]:1", ""]));
        assert_eq!(rest(&mut search), ["b:1", "a:1", "10.0.0.2:1"]);
        search.begin(Some("0.0.0.0:1"), &[]);
        assert_eq!(rest(&mut search), ["a:1", "b:1"]);
    }

    #[test]
    fn the_leader_that_a_server_names_is_next_and_once_a_round() {
        let mut search = begun(&["a:1", "b:1", "c:1"]);
        search.begin(None, &[]);
        assert_eq!(search.next().as_deref(), Some("a:1"));
        search.redirect("c:1");
        search.redirect("a:1");
        assert_eq!(search.next().as_deref(), Some("c:1"));
        search.redirect("d:1");
        search.redirect("0.0.0.0:1");
        assert_eq!(rest(&mut search), ["d:1", "b:1"]);
        search.redirect("c:1");
        assert_eq!(rest(&mut search), [""; 0], "two that point at each other end the round");
    }

    #[test]
    fn who_was_silent_is_tried_last_until_it_answers() {
        let mut search = begun(&["a:1", "b:1"]);
        search.begin(None, &[]);
        search.silent("a:1".to_owned());
        search.begin(Some("a:1"), &members(["c:1"]));
        assert_eq!(search.next().as_deref(), Some("b:1"));
        search.redirect("a:1");
        assert_eq!(rest(&mut search), ["c:1", "a:1"], "a stale hint does not bring it forward");
        search.answered("a:1");
        search.begin(Some("a:1"), &[]);
        assert_eq!(rest(&mut search), ["a:1", "b:1"]);
    }

    #[test]
    fn patience_grows_from_round_to_round_and_one_address_gets_all_of_it() {
        let limit = Duration::from_secs(4);
        let mut search = begun(&["a:1", "b:1"]);
        let patience = |search: &mut Search| {
            search.begin(None, &[]);
            search.next();
            search.patience(limit).as_secs()
        };
        assert_eq!([(); 4].map(|()| patience(&mut search)), [1, 2, 4, 4]);
        search.found(true);
        assert_eq!(patience(&mut search), 1);
        assert_eq!(patience(&mut begun(&["a:1"])), 4);
    }

    #[test]
    fn each_hello_that_was_given_up_may_take_the_session_over_once() {
        let mut search = begun(&["a:1"]);
        assert!(!search.took_itself_over(), "another process did");
        search.gave_up_hello();
        search.gave_up_hello();
        search.found(true);
        assert_eq!([(); 3].map(|()| search.took_itself_over()), [true, true, false]);
        search.gave_up_hello();
        search.found(false);
        assert!(!search.took_itself_over(), "it named a session that is gone");
    }

    #[test]
    fn the_newest_word_on_the_leader_counts_and_the_longest_wait() {
        let mut elsewhere = Elsewhere::default();
        let reply = |leader: Option<&str>, retry_after_ms| ErrorReply {
            leader: leader.map(str::to_owned),
            retry_after_ms,
            ..ErrorReply::new(ErrorCode::NotLeader, "")
        };
        for (leader, retry_after_ms) in [(Some("a:1"), 0), (Some("b:1"), 100), (None, 50)] {
            elsewhere.heed(&reply(leader, retry_after_ms));
        }
        assert_eq!(elsewhere, Elsewhere { leader: Some("b:1".to_owned()), retry_after_ms: 100 });
    }
}
