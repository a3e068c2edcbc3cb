//! The schema as types. References are resolved: a range has its numbers, and a record that is like another has its fields.

/// Everything that the schema says.
#[derive(Debug)]
pub struct Schema {
    /// What lists consist of.
    pub records: Vec<Record>,
    /// What a client sends, by opcode.
    pub requests: Vec<Frame>,
    /// What a server sends, by opcode.
    pub responses: Vec<Frame>,
    /// Numbers that stand for one of some choices.
    pub choices: Vec<Choice>,
    /// Sets of bits.
    pub bits: Vec<Bits>,
    /// Values of elements that have several fields.
    pub composites: Vec<Composite>,
    /// What a job can carry.
    pub attributes: Vec<Element>,
    /// What a filter can ask for.
    pub conditions: Vec<Element>,
    /// What a topic can decide.
    pub settings: Vec<Element>,
    /// Why a request, or one item of it, is refused.
    pub errors: Vec<ErrorCode>,
    /// The limits of the queue.
    pub limits: Vec<Limit>,
    /// Other numbers.
    pub constants: Vec<Constant>,
    /// What the members of a cluster may have in common.
    pub levels: Vec<Level>,
}

/// Who sends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A client.
    Request,
    /// The server.
    Response,
}

/// What an item of a list, or a part of a frame, consists of.
#[derive(Debug)]
pub struct Record {
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it is: a sentence.
    pub doc: String,
    /// Its fields, in the order of the wire. The bytes of texts and the like follow behind all of them.
    pub fields: Vec<Field>,
}

/// One kind of message.
#[derive(Debug)]
pub struct Frame {
    /// Who sends it.
    pub side: Side,
    /// Its name, in capitals.
    pub name: String,
    /// Its number.
    pub opcode: u8,
    /// What it is: a sentence.
    pub doc: String,
    /// Its fields, in the order of the wire.
    pub fields: Vec<Field>,
    /// Of a request: the name of its answer.
    pub answer: Option<String>,
    /// Of a request: who answers it.
    pub kind: RequestKind,
    /// Of a request: whether it may be sent again when nobody knows whether the server got it.
    pub repeat: Repeat,
    /// Of a request: the right that a token needs for it.
    pub right: Option<String>,
    /// Of a request: the feature level that all members of a cluster need for it.
    pub level: u32,
    /// Of a request: the codes that it may be told beside those that every request may be told.
    pub errors: Vec<String>,
    /// Of a response: it proves that the session was connected to the leader after the request was sent; RESERVED and DELIVER
    /// only if they have a job.
    pub is_proof: bool,
}

/// Who answers a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// It becomes one command of the log, and is answered once that is applied.
    Change,
    /// It is answered from the applied state.
    Read,
    /// Neither.
    #[default]
    Own,
}

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// Yes.
    Safe,
    /// Only if it names a job by its id.
    SafeById,
    /// No.
    #[default]
    Unsafe,
}

/// One field of a frame, a record or a composite.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it means, without a full stop.
    pub doc: String,
    /// What stands on the wire.
    pub kind: Kind,
    /// It may be absent, with all that follows: then it is 0 or empty.
    pub is_late: bool,
    /// The least value or length.
    pub min: Option<u64>,
    /// The greatest value or length.
    pub max: Option<u64>,
    /// The name of the choices that it is one of; `error` stands for the error codes.
    pub choice: Option<String>,
    /// The name of the bits that it is a set of.
    pub bits: Option<String>,
    /// What a server sends that is not configured otherwise.
    pub default: Option<String>,
    /// The record whose fields stand here, if this is one of them.
    pub like: Option<String>,
}

/// What stands in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The four bytes that a HELLO begins with.
    Magic,
    /// An unsigned number of so many bytes: 1, 2, 4, 8 or 16.
    Number(usize),
    /// A signed number of eight bytes.
    Signed,
    /// Sixteen bytes.
    Id,
    /// Text behind a length of so many bytes: 1 or 2.
    Text(usize),
    /// Bytes behind a length of so many bytes: 1, 2 or 4.
    Bytes(usize),
    /// A count of one byte, and so many texts behind a length of one byte each.
    Texts,
    /// Tagged elements behind a length of two bytes.
    Tagged(Elements),
    /// A job's id, or its topic and key.
    Reference,
    /// A list.
    List(Item),
    /// The fields of this record, as fields of the frame, and the bytes of its pieces behind them.
    Part(String),
    /// The fields of this record, in place. It has no pieces.
    Object(String),
    /// Of a composite: text up to the end.
    RestText,
    /// Of a composite: numbers of four bytes up to the end.
    RestNumbers,
}

/// What a list consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Records of this name.
    Record(String),
    /// Texts behind a length of one byte.
    Text,
    /// Numbers of two bytes.
    Number,
}

/// Which elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// [`Schema::attributes`].
    Attributes,
    /// [`Schema::conditions`].
    Filter,
    /// [`Schema::settings`].
    Settings,
}

/// Numbers that stand for one of some choices.
#[derive(Debug)]
pub struct Choice {
    /// Its name, in `snake_case`.
    pub name: String,
    /// What is chosen: a sentence.
    pub doc: String,
    /// The choices, by number.
    pub values: Vec<ChoiceValue>,
    /// If a newer server may send other numbers: what they mean to this version, for a person.
    pub open: Option<String>,
    /// What a client makes of other numbers, unless it keeps or skips them.
    pub unknown: Option<Unknown>,
}

/// What stands for numbers that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The number of one of the choices.
    pub number: u64,
    /// The error code that goes into the field `code` beside it.
    pub code: Option<UnknownCode>,
}

/// An error code that stands for numbers that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCode {
    /// Its number.
    pub number: u16,
    /// Its name, in capitals.
    pub name: String,
}

/// One choice.
#[derive(Debug)]
pub struct ChoiceValue {
    /// Its number.
    pub number: u64,
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it means, without a full stop.
    pub doc: String,
}

/// A set of bits. Bits that nobody knows are ignored.
#[derive(Debug)]
pub struct Bits {
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it says: a sentence.
    pub doc: String,
    /// The bits, the lowest first.
    pub values: Vec<Flag>,
}

/// One bit.
#[derive(Debug)]
pub struct Flag {
    /// Its place: 0 is the lowest.
    pub bit: u32,
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it means, without a full stop.
    pub doc: String,
}

/// The value of an element that has several fields.
#[derive(Debug)]
pub struct Composite {
    /// Its name, in `snake_case`.
    pub name: String,
    /// What it is: a sentence.
    pub doc: String,
    /// Its fields, one behind the other.
    pub fields: Vec<Field>,
}

/// One attribute, condition or setting.
#[derive(Debug)]
pub struct Element {
    /// Its tag, with the highest bit if it is critical.
    pub tag: u16,
    /// Its name, in `snake_case`.
    pub name: String,
    /// Of a setting: its name on the command line.
    pub cli: Option<String>,
    /// What it means, without a full stop.
    pub doc: String,
    /// What stands in it.
    pub kind: ElementKind,
    /// There may be several.
    pub repeats: bool,
    /// The least value or length.
    pub min: Option<u64>,
    /// The greatest value or length.
    pub max: Option<u64>,
    /// The name of the choices that it is one of.
    pub choice: Option<String>,
    /// The name of the bits that it is a set of.
    pub bits: Option<String>,
}

/// What stands in an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// A number of so many bytes.
    Number(usize),
    /// The whole value is text.
    Text,
    /// The whole value is bytes.
    Bytes,
    /// One byte that is 1.
    Flag,
    /// The fields of this composite.
    Composite(String),
}

/// Why a request, or one item of it, is refused.
#[derive(Debug)]
pub struct ErrorCode {
    /// Its number.
    pub number: u16,
    /// Its name, in capitals.
    pub name: String,
    /// The same request may succeed later, as it is.
    pub is_retryable: bool,
    /// Every request may be told this.
    pub is_for_any: bool,
    /// What it means, without a full stop.
    pub doc: String,
    /// What to do.
    pub remedy: String,
}

/// A limit of the queue.
#[derive(Debug)]
pub struct Limit {
    /// Its name, in capitals; it says the unit.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// The field of WELCOME that carries it, if it is a setting of the server.
    pub welcome: Option<String>,
    /// What it limits.
    pub doc: String,
}

/// A number that a client needs.
#[derive(Debug)]
pub struct Constant {
    /// Its name, in capitals.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// What it means, without a full stop.
    pub doc: String,
}

/// A feature level.
#[derive(Debug)]
pub struct Level {
    /// Its name, in capitals.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// What it brings.
    pub doc: String,
}

impl Schema {
    /// The record of this name.
    ///
    /// # Panics
    ///
    /// If there is none: a schema that was loaded has every record that it names.
    pub fn record(&self, name: &str) -> &Record {
        let found = self.records.iter().find(|record| record.name == name);
        found.unwrap_or_else(|| panic!("no record {name}"))
    }

    /// The composite of this name.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn composite(&self, name: &str) -> &Composite {
        let found = self.composites.iter().find(|composite| composite.name == name);
        found.unwrap_or_else(|| panic!("no composite {name}"))
    }

    /// The choices of this name, if a field or an element names some.
    pub fn choice_of(&self, name: Option<&str>) -> Option<&Choice> {
        self.choices.iter().find(|choice| Some(choice.name.as_str()) == name)
    }

    /// The bits of this name, if a field or an element names some.
    pub fn bits_of(&self, name: Option<&str>) -> Option<&Bits> {
        self.bits.iter().find(|bits| Some(bits.name.as_str()) == name)
    }

    /// The records that stand in frames of one side.
    pub fn records_of(&self, side: Side) -> impl Iterator<Item = &Record> {
        let is_used = move |record: &&Record| {
            self.frames(side).iter().flat_map(|frame| &frame.fields).any(|field| match &field.kind {
                Kind::List(Item::Record(name)) | Kind::Part(name) | Kind::Object(name) => {
                    *name == record.name
                }
                _ => false,
            })
        };
        self.records.iter().filter(is_used)
    }

    /// Whether the record of this name stands in frames of one side.
    pub fn has_record(&self, side: Side, name: &str) -> bool {
        self.records_of(side).any(|record| record.name == name)
    }

    /// The frames of one side.
    pub fn frames(&self, side: Side) -> &[Frame] {
        match side {
            Side::Request => &self.requests,
            Side::Response => &self.responses,
        }
    }

    /// The elements of one kind.
    pub fn elements(&self, elements: Elements) -> &[Element] {
        match elements {
            Elements::Attributes => &self.attributes,
            Elements::Filter => &self.conditions,
            Elements::Settings => &self.settings,
        }
    }
}

impl Bits {
    /// All bits that are known.
    pub fn mask(&self) -> u64 {
        self.values.iter().map(|flag| 1 << flag.bit).sum()
    }
}

impl Field {
    /// True if it is the name of a topic, which may not be empty.
    pub fn is_topic(&self) -> bool {
        matches!(self.kind, Kind::Text(_))
            && matches!(self.name.as_str(), "topic" | "to")
            && self.min != Some(0)
    }

    /// True if, in a record, only its length stands among the other fields, and its bytes follow behind them.
    pub fn is_piece(&self) -> bool {
        matches!(self.kind, Kind::Text(_) | Kind::Bytes(_) | Kind::Texts | Kind::Tagged(_))
    }

    /// How many bytes it takes in the fixed part of a record.
    ///
    /// # Panics
    ///
    /// If it cannot stand in a record.
    pub fn fixed_bytes(&self) -> usize {
        match self.kind {
            Kind::Number(width) | Kind::Text(width) | Kind::Bytes(width) => width,
            Kind::Signed => 8,
            Kind::Id => 16,
            Kind::Texts => 1,
            Kind::Tagged(_) => 2,
            _ => panic!("{} cannot stand in a record", self.name),
        }
    }
}

impl Record {
    /// How many bytes its fixed part has.
    pub fn fixed_bytes(&self) -> usize {
        self.fields.iter().map(Field::fixed_bytes).sum()
    }

    /// How many bytes its fixed part has from a peer that sends none of the fields that may be absent.
    pub fn fixed_bytes_min(&self) -> usize {
        self.fields.iter().filter(|field| !field.is_late).map(Field::fixed_bytes).sum()
    }
}

impl Side {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    /// The side of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Request, Self::Response].into_iter().find(|side| side.name() == name)
    }
}
