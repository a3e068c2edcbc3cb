//! Composites are types of the public API, with names of their own.

use crate::names::camel;
use crate::schema::{Composite, Field};

/// The type of a composite.
pub(super) struct Binding {
    composite: &'static str,
    /// The name of the type.
    pub(super) java: &'static str,
    /// A field, and its value in an object that is called `value`.
    values: &'static [(&'static str, &'static str)],
    /// How an object is made: the names of fields stand in braces.
    made: &'static str,
}

const BINDINGS: [Binding; 4] = [
    Binding {
        composite: "header",
        java: "Header",
        values: &[("name", "value.name()"), ("value", "value.value()")],
        made: "new Header({name}, {value})",
    },
    Binding {
        composite: "expiry",
        java: "Due",
        values: &[("kind", "value.isAt() ? Choice.DueKind.AT : Choice.DueKind.AFTER"), ("ms", "value.ms()")],
        made: "new Due({ms}, {kind} == Choice.DueKind.AT)",
    },
    Binding {
        composite: "backoff",
        java: "Backoff",
        values: &[
            ("kind", "value.kind()"),
            ("jitter", "value.jitterPercent()"),
            ("waits_ms", "value.waitsMs()"),
        ],
        made: "new Backoff({kind}, {jitter}, {waits_ms})",
    },
    Binding {
        composite: "late",
        java: "TopicPolicy.Late",
        values: &[("after_ms", "value.afterMs()"), ("action", "value.action()"), ("value", "value.value()")],
        made: "new TopicPolicy.Late({after_ms}, {action}, {value})",
    },
];

impl Binding {
    /// The type of this composite.
    pub(super) fn of(composite: &str) -> &'static Self {
        let found = BINDINGS.iter().find(|binding| binding.composite == composite);
        found.unwrap_or_else(|| panic!("the composite {composite} has no type in Java yet"))
    }

    /// The value of a field in an object that is called `value`.
    pub(super) fn value(&self, field: &Field) -> &'static str {
        let found = self.values.iter().find(|(name, _)| *name == field.name);
        found.map_or_else(
            || panic!("{} of {} has no value in Java yet", field.name, self.composite),
            |(_, value)| value,
        )
    }

    /// An object whose fields have these values.
    pub(super) fn made(&self, composite: &Composite, value: impl Fn(&Field) -> String) -> String {
        composite.fields.iter().fold(self.made.to_owned(), |made, field| {
            made.replace(&format!("{{{}}}", field.name), &value(field))
        })
    }
}

/// The name of the variable for a field.
pub(super) fn variable(field: &Field) -> String {
    camel(&field.name)
}
