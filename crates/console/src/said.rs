//! What a page says of the action before it. The address of the page has only its code, so that no link can make a page say anything
//! else.

use super::texts::{Language, text};
use adjourn_http::Pairs;

/// Declares what can be said: a code and a text.
macro_rules! said {
    ($($name:ident $code:literal $text:expr;)+) => {
        /// What the last action did.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Said { $($name,)+ }

        impl Said {
            /// Its code in an address.
            pub(crate) fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }
        }

        const ALL: &[(&str, &str)] = &[$(($code, $text),)+];
    };
}

said! {
    Saved "saved" text("Saved.");
    Paused "paused" text("Paused.");
    Resumed "resumed" text("Resumed.");
    Kicked "kicked" text("{0} buried jobs are ready again.");
    Deleted "deleted" text("Deleted.");
    Pushed "pushed" text("Pushed as job {0}.");
    Changed "changed" text("{0} jobs changed.");
    RunNow "run-now" text("The job is ready.");
    Rescheduled "rescheduled" text("The job has another due time.");
    Edited "edited" text("The job is edited.");
    Fired "fired" text("Fired: the job is {0}.");
    Filled "filled" text("{0} jobs pushed for the instants of the past.");
    Disconnected "disconnected" text("Disconnected.");
    Transferred "transferred" text("Another member leads now, or will in a moment.");
    MemberAdded "member-added" text("The member is added: it votes when it has caught up.");
    MemberRemoved "member-removed" text("The member is removed.");
}

/// What the query of a page says.
pub(crate) fn of(language: Language, query: &Pairs) -> Option<String> {
    let code = query.first("said");
    let (_, english) = ALL.iter().find(|(known, _)| *known == code)?;
    let count: u64 = query.first("said_count").parse().unwrap_or(0);
    Some(language.fill(english, &[&count.to_string()]))
}
