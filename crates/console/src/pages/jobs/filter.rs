//! The conditions of a list of jobs: a form, and the query that it makes.

use adjourn_http::{FilterJson, Pairs, Place, Problem};
use adjourn_types::Filter;

/// The names of the conditions.
const CONDITIONS: [&str; 10] = [
    "topic",
    "state",
    "group",
    "due_from",
    "due_before",
    "key_prefix",
    "attempts_min",
    "attempts_max",
    "buried",
    "reason",
];

/// The conditions as a person gave them, and what they mean.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    given: Pairs,
    pub(super) filter: Filter,
}

impl Conditions {
    /// The conditions among these fields.
    ///
    /// # Errors
    ///
    /// If one is not valid.
    pub(super) fn of(fields: &Pairs) -> Result<Self, Problem> {
        let given = fields.clone().split(&CONDITIONS).filled();
        let json: FilterJson = with_zones(&given).read(Place::Parameter)?;
        let filter = json.filter().map_err(|problem| problem.elsewhere(Place::Parameter))?;
        Ok(Self { given, filter })
    }

    /// What was given for one of them.
    pub(super) fn value(&self, name: &str) -> &str {
        self.given.first(name)
    }

    /// True if this state is among those that were chosen.
    pub(super) fn has_state(&self, state: &str) -> bool {
        self.given.all("state").iter().any(|given| given == state)
    }

    /// True if any is given.
    pub(super) fn are_any(&self) -> bool {
        CONDITIONS.iter().any(|name| self.given.has(name))
    }

    /// Each with its value, for hidden fields.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        CONDITIONS.iter().flat_map(|name| self.given.all(name).iter().map(|value| (*name, value.as_str())))
    }

    /// The conditions as a query.
    pub(super) fn query(&self) -> String {
        self.query_with(&[])
    }

    /// The same with other values of some conditions.
    pub(super) fn query_with(&self, others: &[(&'static str, String)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.pairs().filter(|(name, _)| others.iter().all(|(other, _)| other != name)));
        query.extend_pairs(others);
        query.finish()
    }
}

/// A field for a date and a time gives no zone: it is UTC.
fn with_zones(given: &Pairs) -> Pairs {
    let mut all = Pairs::default();
    for name in CONDITIONS {
        for value in given.all(name) {
            let is_local = name.starts_with("due_") && value.len() >= 16 && !value.contains(['Z', 'z', '+']);
            let is_local = is_local
                && value.get(10..11) == Some("T")
                && !value.get(11..).is_some_and(|time| time.contains('-'));
            let seconds = if is_local && value.len() == 16 { ":00" } else { "" };
            let zone = if is_local { "Z" } else { "" };
            all.add(name.to_owned(), format!("{value}{seconds}{zone}"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Millis;

    #[test]
    fn a_form_becomes_a_filter_and_a_query() {
        let fields =
            Pairs::of_query("topic=orders&state=buried&due_from=1970-01-01T00:01&reason=&columns=id");
        let conditions = Conditions::of(&fields).expect("conditions");
        assert_eq!(conditions.filter.due_from, Some(Millis(60_000)));
        assert_eq!(conditions.query(), "topic=orders&state=buried&due_from=1970-01-01T00%3A01");
        let ready = conditions.query_with(&[("state", "ready".to_owned()), ("due_before", "1".to_owned())]);
        assert_eq!(ready, "topic=orders&due_from=1970-01-01T00%3A01&state=ready&due_before=1");
        assert!(conditions.are_any() && conditions.has_state("buried") && !conditions.has_state("ready"));
        let exact =
            Conditions::of(&Pairs::of_query("due_before=1970-01-01T01:00:00%2B01:00")).expect("a time");
        assert_eq!(exact.filter.due_before, Some(Millis(0)));
        let wrong = Conditions::of(&Pairs::of_query("attempts_min=few")).expect_err("no number");
        assert!(wrong.detail().starts_with("attempts_min: "), "{}", wrong.detail());
    }
}
