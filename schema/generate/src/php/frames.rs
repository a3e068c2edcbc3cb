//! The codec of frames: `Codec`, which finds the class of a frame, and the classes, one for each range of opcodes. A web request
//! that pushes one job loads two of them.

use super::code::Code;
use super::layout::record_types;
use super::{decode, encode, tables};
use crate::names::{capitals, pascal};
use crate::output::Output;
use crate::schema::{Field, Frame, Item, Kind, Schema};

/// A class, the bits of an opcode that its frames have, and what they are about.
struct Group {
    class: &'static str,
    path: &'static str,
    about: &'static str,
}

macro_rules! group {
    ($class:literal, $about:literal) => {
        Group {
            class: $class,
            path: concat!("clients/php/client/src/Protocol/", $class, ".php"),
            about: $about,
        }
    };
}

/// By the bits of the opcode that [`GROUP_BITS`] names; and the last one, by the names of its frames.
const GROUPS: [Group; 9] = [
    group!("ConnectionFrames", "Frames about the connection, and ERROR."),
    group!("PushFrames", "PUSH and its answer."),
    group!("DeliveryFrames", "Frames that get jobs."),
    group!("SettleFrames", "Frames about leases."),
    group!("JobFrames", "Frames about jobs that are not leased."),
    group!("TopicFrames", "Frames about topics, and about the queue as a whole."),
    group!("BackupFrames", "Frames about backups."),
    group!("ClusterFrames", "Frames about the cluster."),
    group!("ScheduleFrames", "Frames about schedules."),
];
const GROUP_BITS: u8 = 0x70;
const NAMESPACE: &str = "Adjourn\\Protocol";
const TESTS: &str = "Adjourn\\Tests\\Protocol";
/// Functions of PHP that are faster if they are imported, as the compiler then knows them.
const FUNCTIONS: [&str; 6] = [
    "function chr",
    "function count",
    "function in_array",
    "function ord",
    "function strlen",
    "function substr",
];

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    let mut outputs = vec![
        Output::File { path: "clients/php/client/src/Protocol/Codec.php", text: codec(schema) },
        Output::File {
            path: "clients/php/client/tests/Protocol/ServerCodec.php",
            text: server_codec(schema),
        },
    ];
    for (place, group) in GROUPS.iter().enumerate() {
        outputs.push(Output::File { path: group.path, text: group_class(schema, place, group) });
    }
    outputs
}

/// Which group a frame belongs to. ERROR may answer the first request, and belongs to the connection.
fn place(frame: &Frame) -> usize {
    match frame.opcode {
        _ if frame.name == "ERROR" => 0,
        _ if frame.name.starts_with("SCHEDUL") || frame.name == "INSTANTS" => GROUPS.len() - 1,
        opcode => usize::from((opcode & GROUP_BITS) >> 4),
    }
}

fn class_of(frame: &Frame) -> &'static str {
    GROUPS.get(place(frame)).map_or("", |group| group.class)
}

fn group_class(schema: &Schema, at: usize, group: &Group) -> String {
    let of = |frames: &'_ [Frame]| -> Vec<usize> {
        (0..frames.len()).filter(|n| frames.get(*n).is_some_and(|frame| place(frame) == at)).collect()
    };
    let requests: Vec<&Frame> = of(&schema.requests).iter().filter_map(|n| schema.requests.get(*n)).collect();
    let responses: Vec<&Frame> =
        of(&schema.responses).iter().filter_map(|n| schema.responses.get(*n)).collect();
    let mut code = Code::file(NAMESPACE, &FUNCTIONS);
    let mut doc = vec![group.about.to_owned()];
    let frames: Vec<&Frame> = requests.iter().chain(&responses).copied().collect();
    doc.extend(record_types(schema, &frames));
    code.doc(&doc);
    code.begin(&format!("final class {}", group.class));
    constants(&mut code, schema, at);
    functions(&mut code, schema, (&requests, &responses), false);
    code.end();
    tidy(code.text())
}

/// The functions of a class that encodes some frames and decodes others.
fn functions(code: &mut Code, schema: &Schema, (out, back): (&[&Frame], &[&Frame]), is_strict: bool) {
    for frame in out.iter().filter(|frame| !frame.fields.is_empty()) {
        encode::frame(code, schema, frame);
        code.blank();
    }
    for frame in back.iter().filter(|frame| !frame.fields.is_empty()) {
        decode::frame(code, schema, frame, is_strict);
        code.blank();
    }
    encode::helpers(code, schema, out);
    decode::helpers(code, schema, back, is_strict);
}

/// Removes imports that are not used, and empty lines that are too many.
pub(super) fn tidy(text: String) -> String {
    let mut text = text;
    for name in FUNCTIONS.iter().map(|name| name.trim_start_matches("function ")) {
        if !text.contains(&format!("{name}(")) {
            text = text.replace(&format!("use function {name};\n"), "");
        }
    }
    for name in ["Malformed", "Tagged"] {
        if text.matches(name).count() == 1 {
            text = text.replace(&format!("use Adjourn\\Protocol\\{name};\n"), "");
        }
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.replace("{\n\n", "{\n").replace("\n\n}\n", "\n}\n").replace("\n\n    }\n", "\n    }\n")
}

/// The bits, choices and defaults of the fields that no earlier group has.
fn constants(code: &mut Code, schema: &Schema, at: usize) {
    let earlier: Vec<&Field> = fields(schema, |frame| place(frame) < at);
    let here: Vec<&Field> = fields(schema, |frame| place(frame) == at);
    let is_new = |name: &String, of: fn(&Field) -> Option<&String>| {
        here.iter().any(|field| of(field) == Some(name))
            && !earlier.iter().any(|field| of(field) == Some(name))
    };
    for bits in schema.bits.iter().filter(|bits| is_new(&bits.name, |field| field.bits.as_ref())) {
        tables::bits(code, bits);
    }
    for choice in schema.choices.iter().filter(|choice| is_new(&choice.name, |field| field.choice.as_ref())) {
        if !tables::has_enum(&choice.name) {
            tables::choice(code, choice);
        }
    }
    for field in here {
        let value = field.default.as_ref().and_then(|text| text.replace(',', "").parse::<u64>().ok());
        if let Some(value) = value {
            let doc = format!("the {} of a server that is not configured otherwise", field.name);
            code.constant(&format!("DEFAULT_{}", capitals(&field.name)), value, &doc);
        }
    }
    code.blank();
}

/// The fields of these frames, with those of their records.
fn fields(schema: &Schema, is_wanted: impl Fn(&Frame) -> bool) -> Vec<&Field> {
    let frames = schema.requests.iter().chain(&schema.responses).filter(|frame| is_wanted(frame));
    frames
        .flat_map(|frame| &frame.fields)
        .flat_map(|field| match &field.kind {
            Kind::Part(record) | Kind::Object(record) | Kind::List(Item::Record(record)) => {
                schema.record(record).fields.iter().collect()
            }
            _ => vec![field],
        })
        .collect()
}

fn codec(schema: &Schema) -> String {
    let mut code = Code::file(NAMESPACE, &FUNCTIONS);
    code.doc(&[
        "Frames to bytes and back: what a client sends and what it gets. No I/O, no state.",
        "",
        "A u64 is kept as the same 64 bits in a PHP int: a value from 2^63 on is negative here, and goes back as it came. A u128 is",
        "its 16 bytes, the lowest first.",
    ]);
    code.begin("final class Codec");
    for line in HEAD.lines() {
        code.line(line);
    }
    for constant in &schema.constants {
        code.constant(&constant.name, constant.value, &constant.doc);
    }
    code.blank();
    let requests: Vec<&Frame> = schema.requests.iter().collect();
    let responses: Vec<&Frame> = schema.responses.iter().collect();
    dispatch(&mut code, &requests, &responses, class_of);
    for line in HELPERS.lines() {
        if line.is_empty() { code.blank() } else { code.line(line) }
    }
    code.end();
    tidy(code.text())
}

/// `encode` and `decode`, which find the function for a frame.
fn dispatch(code: &mut Code, out: &[&Frame], back: &[&Frame], class_of: fn(&Frame) -> &'static str) {
    code.doc(&["@param array<string, mixed> $f the fields of the frame"]);
    code.begin("public static function encode(Opcode $opcode, int $requestId, array $f = []): string");
    code.open("$payload = match ($opcode->value) {");
    for frame in out {
        let bytes = format!("{}::encode{}($f)", class_of(frame), pascal(&frame.name));
        let bytes = if frame.fields.is_empty() { "''" } else { bytes.as_str() };
        code.line(&format!("0x{:02X} => {bytes},", frame.opcode));
    }
    code.close("};");
    code.blank();
    code.line(
        "return pack('VCx3V', self::HEAD_BYTES + strlen($payload), $opcode->value, $requestId) . $payload;",
    );
    code.end();
    code.blank();
    code.doc(&[
        "Decodes what follows the length field. Null for an opcode that is not known here.",
        "",
        "@throws Malformed",
    ]);
    code.begin("public static function decode(string $frame): ?Message");
    code.open("if (strlen($frame) < self::HEAD_BYTES) {");
    code.line("throw Malformed::cutOff();");
    code.close("}");
    code.line("$opcode = ord($frame[0]);");
    code.open("$fields = match ($opcode) {");
    for frame in back {
        let fields = format!("{}::decode{}($frame)", class_of(frame), pascal(&frame.name));
        let fields = if frame.fields.is_empty() { "[]" } else { fields.as_str() };
        code.line(&format!("0x{:02X} => {fields},", frame.opcode));
    }
    code.line("default => null,");
    code.close("};");
    code.blank();
    code.line("return $fields === null ? null : new Message(Opcode::from($opcode), unpack('V', $frame, 4)[1], $fields);");
    code.end();
}

fn server_codec(schema: &Schema) -> String {
    let mut uses = vec![
        "Adjourn\\Protocol\\Codec",
        "Adjourn\\Protocol\\Malformed",
        "Adjourn\\Protocol\\Message",
        "Adjourn\\Protocol\\Opcode",
    ];
    uses.extend(FUNCTIONS);
    let mut code = Code::file(TESTS, &uses);
    let frames: Vec<&Frame> = schema.requests.iter().chain(&schema.responses).collect();
    let mut doc = vec![
        "What a server sends and gets, for tests and for the harness of the conformance suite. It refuses numbers out of range.".to_owned(),
    ];
    doc.extend(record_types(schema, &frames));
    code.doc(&doc);
    code.begin("final class ServerCodec");
    code.line("private const HEAD_BYTES = Codec::HEAD_BYTES;");
    code.blank();
    let requests: Vec<&Frame> = schema.requests.iter().collect();
    let responses: Vec<&Frame> = schema.responses.iter().collect();
    dispatch(&mut code, &responses, &requests, |_| "self");
    code.blank();
    functions(&mut code, schema, (&responses, &requests), true);
    code.blank();
    code.begin("private static function check(bool $isSo, string $name): void");
    code.open("if (!$isSo) {");
    code.line("throw new Malformed(\"$name is not allowed.\");");
    code.close("}");
    code.end();
    code.end();
    tidy(code.text())
}

const HEAD: &str = r#"/** Bytes of the length field. */
public const LENGTH_BYTES = 4;
/** Bytes of opcode, flags, group, reserved and request id; the length field counts them. */
public const HEAD_BYTES = 8;
/** A u128 or an id that says nothing. */
public const NONE = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";"#;

const HELPERS: &str = r#"
/**
 * @internal Numbers that stand next to each other.
 *
 * @return array<string, mixed>
 */
public static function fixed(string $format, int $bytes, string $frame, int &$at): array
{
    if ($bytes > strlen($frame) - $at) {
        throw Malformed::cutOff();
    }
    $at += $bytes;

    return unpack($format, $frame, $at - $bytes);
}

/** @internal */
public static function bytes(string $frame, int &$at, int $bytes): string
{
    if ($bytes > strlen($frame) - $at) {
        throw Malformed::cutOff();
    }
    $at += $bytes;

    return substr($frame, $at - $bytes, $bytes);
}

/** @internal */
public static function text(string $frame, int &$at, int $bytes): string
{
    $text = self::bytes($frame, $at, $bytes);
    if (preg_match('//u', $text) !== 1) {
        throw Malformed::noText();
    }

    return $text;
}

/**
 * @internal The head of a list. A count that the frame has no room for is refused before anything is reserved for it.
 *
 * @return array{int, int} bytes of the fixed part of an item, and how many items there are
 */
public static function listHead(string $frame, int &$at, int $bytesMin): array
{
    ['fixed' => $fixed, 'count' => $count] = self::fixed('vfixed/Vcount', 6, $frame, $at);
    if ($fixed < $bytesMin) {
        throw new Malformed("The fixed part of an item has $fixed bytes, and needs $bytesMin.");
    }
    if ($count > intdiv(strlen($frame) - $at, $fixed)) {
        throw new Malformed("A list of $count items does not fit its frame.");
    }

    return [$fixed, $count];
}

/** @internal The number, if it has so many bits. */
public static function narrow(int $number, int $bits, string $name): int
{
    return $number >> $bits === 0 ? $number : throw self::outOfRange([$name => [$number, $bits]]);
}

/**
 * @internal
 *
 * @param array<string, array{int, int}> $numbers by name, each with the bits that there are for it
 */
public static function outOfRange(array $numbers): \InvalidArgumentException
{
    foreach ($numbers as $name => [$number, $bits]) {
        if ($number >> $bits !== 0) {
            return new \InvalidArgumentException($bits === 0 ? "$name must have 16 bytes." : "$name is out of range: it goes from 0 to " . (1 << $bits) - 1 . '.');
        }
    }

    return new \InvalidArgumentException('A number is out of range.');
}"#;
