//! The classes of frames and records: their attributes, and how these become the fields of the wire and come from them.

use super::naming;
use crate::schema::{Bits, Elements, Field, Frame, Item, Kind, Record, Schema};

/// One field of the wire.
#[derive(Clone)]
pub(super) struct Wire {
    /// The field.
    pub(super) field: Field,
    /// The variable that holds it when it is read.
    pub(super) local: String,
    /// Its value, of an object `@`.
    pub(super) raw: String,
    /// The bytes of a text stand behind all fields around it, and not at once behind its length.
    pub(super) is_deferred: bool,
}

/// One attribute of a class.
#[derive(Clone)]
pub(super) struct Attribute {
    /// Its name.
    pub(super) name: String,
    /// Its type.
    pub(super) hint: String,
    /// 0 or empty.
    pub(super) default: String,
    /// Its value, of the variables of [`Wire::local`].
    pub(super) value: String,
    /// What it means.
    pub(super) doc: String,
    /// It may be absent on the wire.
    pub(super) is_late: bool,
}

/// A frame or a record as a class.
pub(super) struct Shape {
    /// Its name on the wire.
    pub(super) name: String,
    /// The class.
    pub(super) class: String,
    /// What it is.
    pub(super) doc: String,
    /// The fields, in the order of the wire.
    pub(super) wires: Vec<Wire>,
    /// The attributes, in the order of the wire.
    pub(super) attributes: Vec<Attribute>,
    /// The attributes are a part of those of the class.
    pub(super) is_partial: bool,
    /// Objects that are made first.
    pub(super) parts: Vec<Part>,
}

/// An object that is the value of an attribute.
pub(super) struct Part {
    /// The variable.
    pub(super) local: String,
    /// Its class.
    pub(super) class: String,
    /// What it is made of.
    pub(super) arguments: Vec<String>,
}

impl Shape {
    /// What makes an object of this class, of the variables that were read.
    pub(super) fn arguments(&self) -> Vec<String> {
        let argument = |one: &Attribute| {
            if self.is_partial { format!("{}={}", one.name, one.value) } else { one.value.clone() }
        };
        self.attributes.iter().map(argument).collect()
    }

    /// True if something may be absent.
    pub(super) fn has_late(&self) -> bool {
        self.wires.iter().any(|wire| wire.field.is_late)
    }

    /// True if bytes follow behind the fixed part.
    pub(super) fn has_pieces(&self) -> bool {
        self.wires.iter().any(|wire| wire.field.is_piece())
    }

    /// An object that says nothing.
    fn default(&self) -> String {
        let defaults = self.attributes.iter().map(|one| one.default.as_str());
        let defaults: Vec<&str> =
            if naming::has_defaults(&self.class) { Vec::new() } else { defaults.collect() };
        format!("{}({})", self.class, defaults.join(", "))
    }

    /// True if it is a record of one number, which stands for itself.
    pub(super) fn is_bare(&self) -> bool {
        self.class.is_empty()
    }
}

/// A record as a class.
pub(super) fn of_record(schema: &Schema, record: &Record) -> Shape {
    let class = naming::class_of_record(&record.name);
    let mut shape = Shape {
        name: record.name.clone(),
        class,
        doc: record.doc.clone(),
        wires: Vec::new(),
        attributes: Vec::new(),
        is_partial: record.name == "listed",
        parts: Vec::new(),
    };
    if let [only] = record.fields.as_slice() {
        shape.class.clear();
        shape.lower(schema, only);
        for wire in &mut shape.wires {
            "@".clone_into(&mut wire.raw);
        }
    } else {
        shape.lower_all(schema, &record.fields);
    }
    for wire in &mut shape.wires {
        wire.is_deferred = true;
    }
    shape
}

/// A frame as a class.
pub(super) fn of_frame(schema: &Schema, frame: &Frame) -> Shape {
    let mut shape = Shape {
        name: frame.name.clone(),
        class: crate::names::pascal(&frame.name),
        doc: frame.doc.clone(),
        wires: Vec::new(),
        attributes: Vec::new(),
        is_partial: false,
        parts: Vec::new(),
    };
    shape.lower_all(schema, &frame.fields);
    if let Some(field) = frame.fields.iter().find(|field| is_report(field)) {
        shape.gather(field);
    }
    shape
}

/// The class of jobs that are shown, in a list and alone: the attributes of both.
pub(super) fn of_reports(schema: &Schema) -> Vec<Attribute> {
    let mut attributes = of_record(schema, schema.record("listed")).attributes;
    for frame in schema.responses.iter().filter(|frame| frame.fields.iter().any(is_report)) {
        let mut alone = Shape { is_partial: true, ..of_record(schema, schema.record("shown")) };
        alone.attributes.clear();
        alone.lower_all(schema, &frame.fields);
        let known: Vec<String> = attributes.iter().map(|one| one.name.clone()).collect();
        attributes.extend(alone.attributes.into_iter().filter(|one| !known.contains(&one.name)));
    }
    attributes
}

/// True if all fields of a frame with this one are attributes of one report.
fn is_report(field: &Field) -> bool {
    field.kind == Kind::Part("shown".to_owned())
}

impl Shape {
    fn lower_all(&mut self, schema: &Schema, fields: &[Field]) {
        for field in fields {
            let together = naming::TOGETHER.iter();
            let mut together = together.filter(|(owner, _, _)| *owner == self.name);
            if let Kind::Part(record) = &field.kind {
                let record = schema.record(record);
                if is_report(field) {
                    let shown = of_record(schema, record);
                    self.wires.extend(shown.wires);
                    self.attributes.extend(shown.attributes);
                } else {
                    let name = naming::attribute_of_field(&self.name, &field.name);
                    self.lower_record(schema, &name, record, &field.doc);
                }
            } else if let Some((_, name, other)) =
                together.find(|(_, _, other)| has_field(schema, other, &field.name))
            {
                let record = schema.record(other);
                if record.fields.first().is_some_and(|first| first.name == field.name) {
                    self.lower_record(schema, name, record, &record.doc);
                }
            } else {
                self.lower(schema, field);
            }
        }
    }

    /// The fields of a record, which are one attribute.
    fn lower_record(&mut self, schema: &Schema, name: &str, record: &Record, doc: &str) {
        let mut inner = of_record(schema, record);
        let local = naming::variable(name);
        for (place, wire) in inner.wires.iter_mut().enumerate() {
            wire.raw = wire.raw.replace("@.", &format!("@.{name}."));
            // Pieces of fields before it stand before it.
            wire.is_deferred = place > 0;
        }
        self.attributes.push(Attribute {
            name: name.to_owned(),
            hint: inner.class.clone(),
            default: inner.default(),
            value: local.clone(),
            doc: doc.to_owned(),
            is_late: false,
        });
        let arguments = inner.arguments();
        self.wires.append(&mut inner.wires);
        self.parts.append(&mut inner.parts);
        self.parts.push(Part { local, class: inner.class, arguments });
    }

    /// The fields of the frame become attributes of one attribute, which is a report.
    fn gather(&mut self, field: &Field) {
        let name = naming::attribute_of_field(&self.name, &field.name);
        for wire in &mut self.wires {
            wire.raw = wire.raw.replace("@.", &format!("@.{name}."));
        }
        let class = naming::class_of_record("shown");
        let mut values: Vec<String> =
            self.attributes.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
        values.push("body_bytes=len(body)".to_owned());
        self.attributes = vec![Attribute {
            name,
            hint: class.clone(),
            default: format!("{class}()"),
            value: "report".to_owned(),
            doc: field.doc.clone(),
            is_late: false,
        }];
        self.parts = vec![Part { local: "report".to_owned(), class, arguments: values }];
    }

    fn lower(&mut self, schema: &Schema, field: &Field) {
        let name = naming::attribute_of_field(&self.name, &field.name);
        let local = naming::variable(&field.name);
        let mut raw = format!("@.{name}");
        if let Some(bits) = schema.bits_of(field.bits.as_deref()) {
            raw = self.lower_bits(bits, &local, field.is_late);
        } else if !matches!(field.kind, Kind::Magic) {
            let (hint, default, value) = self.typed(schema, field, &local);
            self.attributes.push(Attribute {
                name,
                hint,
                default,
                value,
                doc: doc_of(schema, field),
                is_late: field.is_late,
            });
        }
        let is_known_by_bit = naming::KNOWN_BY_BIT.iter().any(|(_, _, value)| *value == field.name);
        if is_known_by_bit && self.name == "node" {
            raw.push_str(" or 0");
        }
        self.wires.push(Wire { field: field.clone(), local, raw, is_deferred: false });
    }

    /// One attribute for each bit. Returns the number that they make.
    fn lower_bits(&mut self, bits: &Bits, local: &str, is_late: bool) -> String {
        let mut sum = Vec::new();
        for flag in &bits.values {
            let name = naming::attribute_of_bit(&bits.name, &flag.name);
            let known = |one: &&(&str, &str, &str)| one.0 == bits.name && one.1 == flag.name;
            let gate = naming::KNOWN_BY_BIT.iter().find(|one| one.0 == bits.name && one.2 == flag.name);
            let mask = 1_u64 << flag.bit;
            let mut hint = "bool";
            let mut value = format!("bool({local} & {mask})");
            let mut default = "False";
            if let Some((_, _, of)) = naming::KNOWN_BY_BIT.iter().find(known) {
                sum.push(shifted(&format!("(@.{of} is not None)"), flag.bit));
                continue;
            }
            if let Some((_, gate, _)) = gate {
                let bit = bits.values.iter().find(|one| one.name == **gate).map_or(0, |one| one.bit);
                value = format!("{value} if {local} & {} else None", 1_u64 << bit);
                (hint, default) = ("bool | None", "None");
            }
            sum.push(shifted(&format!("bool(@.{name})"), flag.bit));
            self.attributes.push(Attribute {
                name,
                hint: hint.to_owned(),
                default: default.to_owned(),
                value,
                doc: flag.doc.clone(),
                is_late,
            });
        }
        sum.join(" | ")
    }

    /// The type of an attribute, its default, and its value.
    fn typed(&self, schema: &Schema, field: &Field, local: &str) -> (String, String, String) {
        let own = |hint: &str, default: &str| (hint.to_owned(), default.to_owned(), local.to_owned());
        if let Some(choice) = &field.choice {
            return self.typed_choice(schema, choice, local);
        }
        let bit = naming::KNOWN_BY_BIT.iter().find(|one| self.name == "node" && one.2 == field.name);
        if let Some((bits, flag, _)) = bit {
            let values = schema.bits_of(Some(bits)).map(|bits| &bits.values);
            let bit =
                values.and_then(|all| all.iter().find(|one| one.name == *flag)).map_or(0, |one| one.bit);
            let value = format!("{local} if marks & {} else None", 1_u64 << bit);
            return ("int | None".to_owned(), "None".to_owned(), value);
        }
        match &field.kind {
            Kind::Text(_) if field.name == "key" => {
                ("str | None".to_owned(), "None".to_owned(), format!("{local} or None"))
            }
            Kind::Text(_) => own("str", "\"\""),
            Kind::Bytes(_) => own("bytes", "b\"\""),
            Kind::Id => own("bytes", "bytes(16)"),
            Kind::Texts | Kind::List(Item::Text) => own("tuple[str, ...]", "()"),
            Kind::List(Item::Number) => own("tuple[int, ...]", "()"),
            Kind::List(Item::Record(record)) => {
                let item = of_record(schema, schema.record(record));
                let class = if item.is_bare() { "ErrorCode | int".to_owned() } else { item.class };
                own(&format!("tuple[{class}, ...]"), "()")
            }
            Kind::Tagged(Elements::Attributes) => own("Attributes", "NO_ATTRIBUTES"),
            Kind::Tagged(Elements::Filter) => own("Filter", "Filter()"),
            Kind::Tagged(Elements::Settings) => own("TopicPolicy", "TopicPolicy()"),
            Kind::Reference => own("JobRef", "JobRef()"),
            Kind::Object(record) => {
                let class = naming::class_of_record(record);
                own(&class, &format!("{class}()"))
            }
            _ if self.name == "new_job" && field.name == "priority" => own("int", "PRIORITY_UNSAID"),
            _ => own("int", "0"),
        }
    }

    fn typed_choice(&self, schema: &Schema, choice: &str, local: &str) -> (String, String, String) {
        let class = naming::class_of_choice(choice);
        let table = table_of_choice(choice);
        let first = schema.choice_of(Some(choice)).and_then(|one| one.values.first());
        let zero = first.map_or_else(
            || "0".to_owned(),
            |first| format!("{class}.{}", naming::member_of_choice(choice, &first.name)),
        );
        let kept = format!("{table}.get({local}, {local})");
        if choice == "outcome" {
            let refused = format!("{table}.get({local}, PushOutcome.REFUSED)");
            (class, zero, refused)
        } else if choice == "applied" {
            let value = format!("{table}.get({local}, Effect.UNKNOWN)");
            (class, zero, value)
        } else if choice == "error" && self.name == "push_result" {
            // A newer outcome costs this job alone.
            let value = format!("{kept} if outcome in PUSH_OUTCOMES else ErrorCode.OUTCOME_UNKNOWN");
            (format!("{class} | int"), zero, value)
        } else if schema.choice_of(Some(choice)).is_some_and(|one| one.open.is_none()) {
            (format!("{class} | int"), zero, format!("{class}({local})"))
        } else {
            (format!("{class} | int"), zero, kept)
        }
    }
}

/// What a field means. Where the document goes on below its table, what it is.
fn doc_of(schema: &Schema, field: &Field) -> String {
    let choice = schema.choice_of(field.choice.as_deref());
    match (field.doc.as_str(), choice) {
        ("see below", Some(choice)) => choice.doc.clone(),
        ("see below" | "as in LIST", None) => "which jobs".to_owned(),
        (doc, _) => doc.trim_end_matches(": see below").to_owned(),
    }
}

fn has_field(schema: &Schema, record: &str, name: &str) -> bool {
    schema.record(record).fields.iter().any(|field| field.name == name)
}

fn shifted(flag: &str, bit: u32) -> String {
    if bit == 0 { flag.replacen("bool(", "int(", 1) } else { format!("{flag} << {bit}") }
}

/// The table of the values of a choice.
pub(super) fn table_of_choice(choice: &str) -> String {
    let mut name = String::new();
    for letter in naming::class_of_choice(choice).chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name + "S"
}
