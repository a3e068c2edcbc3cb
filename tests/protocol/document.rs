//! `protocol.md` against the code: every frame that stands there is decoded and encoded again, and every opcode,
//! error code and limit stands there with the number that the code has.

use std::collections::BTreeSet;

use adjourn_protocol::{
    ANY_REQUEST, ErrorCode, Frame, FrameDecoder, FrameHeader, MAGIC, Request, RequestOpcode, Response,
    ResponseOpcode, VERSION,
};
use adjourn_types::{Right, limits};
use bytes::BytesMut;

const DOCUMENT: &str = include_str!("../../protocol.md");
const LIMITS_SOURCE: &str = include_str!("../../crates/types/src/limits.rs");

/// Bytes of a frame before its payload.
const HEADER_BYTES: usize = 12;

/// A frame as the document shows it.
struct Shown {
    /// Where, for messages.
    line: usize,
    is_request: bool,
    bytes: Vec<u8>,
    /// What the document says that it decodes to; there it may stand on several lines.
    value: String,
}

/// Every fenced block whose language is `frame`.
fn shown_frames() -> Vec<Shown> {
    let mut frames = Vec::new();
    let mut lines = DOCUMENT.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let Some(kind) = line.strip_prefix("```frame ") else { continue };
        assert!(["request", "response"].contains(&kind), "line {number}: a frame of a request or a response");
        let (mut bytes, mut value) = (Vec::new(), String::new());
        for (line, number) in lines.by_ref().take_while(|(line, _)| *line != "```") {
            if let Some(text) = line.strip_prefix("= ") {
                value.push_str(if value.is_empty() { "" } else { " " });
                value.push_str(text);
                continue;
            }
            let hex = line.split_once('#').map_or(line, |(hex, _)| hex);
            bytes.extend(hex.split_whitespace().map(|byte| {
                u8::from_str_radix(byte, 16).unwrap_or_else(|_| panic!("line {number}: {byte} is no byte"))
            }));
        }
        frames.push(Shown { line: number, is_request: kind == "request", bytes, value });
    }
    frames
}

impl Shown {
    fn frame(&self) -> Frame {
        let mut buffer = BytesMut::from(self.bytes.as_slice());
        let frame = FrameDecoder::new(u32::MAX).next(&mut buffer);
        let frame = frame.unwrap_or_else(|error| panic!("line {}: {error}", self.line));
        let frame =
            frame.unwrap_or_else(|| panic!("line {}: the frame is longer than what is shown", self.line));
        assert!(buffer.is_empty(), "line {}: {} bytes behind the frame", self.line, buffer.len());
        frame
    }

    /// What it decodes to, and that encoded again.
    fn there_and_back(&self) -> (String, BytesMut) {
        let frame = self.frame();
        let mut again = BytesMut::new();
        let decoded = if self.is_request {
            Request::decode(&frame, limits::BODY_BYTES_MAX_DEFAULT).map(|request| {
                request.encode(frame.header.id, &mut again);
                format!("{request:?}")
            })
        } else {
            Response::decode(&frame).map(|response| {
                response.encode(frame.header.id, &mut again);
                format!("{response:?}")
            })
        };
        (decoded.unwrap_or_else(|error| panic!("line {}: {error}", self.line)), again)
    }
}

#[test]
fn every_frame_shown_is_what_the_codec_makes_of_it() {
    let frames = shown_frames();
    assert!(!frames.is_empty());
    for shown in frames {
        let (value, again) = shown.there_and_back();
        assert_eq!(value, shown.value, "line {}: what it decodes to", shown.line);
        assert_eq!(again, shown.bytes.as_slice(), "line {}: encoded again", shown.line);
    }
}

#[test]
fn a_frame_stands_there_for_every_opcode() {
    let shown: BTreeSet<u8> = shown_frames().iter().map(|shown| shown.frame().header.opcode).collect();
    let requests = RequestOpcode::ALL.iter().map(|opcode| (*opcode as u8, opcode.name()));
    let responses = ResponseOpcode::ALL.iter().map(|opcode| (*opcode as u8, opcode.name()));
    for (number, name) in requests.chain(responses) {
        assert!(shown.contains(&number), "no frame of {name}");
        let row = format!("| `{number:#04X}` | {name} |").replace("0X", "0x");
        assert!(DOCUMENT.contains(&row), "the table of opcodes has no {row}");
    }
}

#[test]
fn the_errors_of_each_request_are_those_that_the_code_lists() {
    let names = |codes: &[ErrorCode]| match codes {
        [] => "-".to_owned(),
        codes => codes.iter().map(|code| format!("`{}`", code.name())).collect::<Vec<_>>().join(", "),
    };
    let any = format!("Every request can be answered with {}. In addition", names(ANY_REQUEST));
    assert!(DOCUMENT.contains(&any), "the document does not say: {any}");
    let rows = DOCUMENT.lines().skip_while(|line| *line != "| request | codes |").skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    let row = |opcode: &RequestOpcode| format!("| {} | {} |", opcode.name(), names(opcode.refusals()));
    let expected: Vec<String> = RequestOpcode::ALL.iter().map(row).collect();
    assert_eq!(rows, expected, "the table of errors");
    for opcode in RequestOpcode::ALL {
        assert!(!opcode.refusals().iter().any(|code| ANY_REQUEST.contains(code)), "{opcode:?} twice");
    }
}

/// The codes that a text names.
fn codes_in(text: &str) -> BTreeSet<&str> {
    let names: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
    text.split('`').filter(|word| names.contains(word)).collect()
}

#[test]
fn the_text_names_the_errors_of_the_table() {
    let names = |codes: &[ErrorCode]| codes.iter().map(|code| code.name()).collect::<BTreeSet<&str>>();
    let any = names(ANY_REQUEST);
    let mut described = BTreeSet::new();
    for paragraph in DOCUMENT.split("\n\n").filter_map(|paragraph| paragraph.strip_prefix("Errors of ")) {
        let (requests, text) = paragraph.split_once(':').expect("the requests, then their codes");
        let opcodes = requests.split(", ").map(|name| {
            let found = RequestOpcode::ALL.iter().find(|opcode| opcode.name() == name);
            found.unwrap_or_else(|| panic!("{name:?} is no request"))
        });
        let opcodes: Vec<_> = opcodes.collect();
        let of_table: BTreeSet<&str> = opcodes.iter().flat_map(|opcode| names(opcode.refusals())).collect();
        let own: BTreeSet<&str> = codes_in(text).difference(&any).copied().collect();
        assert_eq!(own, of_table, "{requests}");
        for opcode in opcodes {
            assert!(described.insert(opcode.name()), "{opcode:?} twice");
        }
    }
    for opcode in RequestOpcode::ALL.iter().filter(|opcode| !opcode.refusals().is_empty()) {
        assert!(described.contains(opcode.name()), "no paragraph has the errors of {opcode:?}");
    }
}

#[test]
fn the_rights_of_each_request_are_those_that_the_code_asks_for() {
    let rights = Right::ALL.into_iter().map(Some);
    for right in std::iter::once(None).chain(rights) {
        let of_right = RequestOpcode::ALL.iter().filter(|opcode| opcode.right() == right);
        let names: Vec<&str> = of_right.map(|opcode| opcode.name()).collect();
        let row = format!("| {} | {} |", right.map_or("none", Right::name), names.join(", "));
        assert!(DOCUMENT.contains(&row), "the table of rights has no {row}");
    }
}

#[test]
fn every_cut_of_a_shown_request_is_refused() {
    for shown in shown_frames().iter().filter(|shown| shown.is_request) {
        let whole = shown.frame();
        for length in 0..whole.payload.len() {
            let header = FrameHeader { length: 0, ..whole.header };
            let cut = Frame { header, payload: whole.payload.slice(..length) };
            match Request::decode(&cut, limits::BODY_BYTES_MAX_DEFAULT) {
                Err(error) => assert_eq!(error.code(), ErrorCode::Malformed, "line {}: {length}", shown.line),
                // The missing part may be optional.
                Ok(request) => {
                    let mut again = BytesMut::new();
                    request.encode(header.id, &mut again);
                    let payload = again.split_off(HEADER_BYTES);
                    assert_eq!(payload, cut.payload, "line {}: {length} bytes of the payload", shown.line);
                }
            }
        }
    }
}

/// The cells of the document's table rows, without their backticks.
fn rows() -> impl Iterator<Item = Vec<String>> {
    let row = |line: &'static str| line.strip_prefix("| ")?.strip_suffix(" |");
    let cells = |row: &str| row.split(" | ").map(|cell| cell.replace('`', "")).collect();
    DOCUMENT.lines().filter_map(row).map(cells)
}

#[test]
fn every_error_code_stands_there_with_its_number() {
    for code in ErrorCode::ALL {
        let number = (code as u16).to_string();
        let row = rows()
            .find(|row| row.first() == Some(&number) && row.get(1).is_some_and(|name| name == code.name()));
        let row = row.unwrap_or_else(|| panic!("no row | {number} | `{code}` |"));
        let retryable = if code.retryable() { "yes" } else { "no" };
        assert_eq!(row.get(2).map(String::as_str), Some(retryable), "{code}: retryable");
        assert!(
            row.iter().skip(3).filter(|cell| !cell.is_empty()).count() == 2,
            "{code}: meaning, what to do"
        );
    }
}

/// Name and value of limits; their types differ.
macro_rules! values {
    ($($name:ident)+) => {
        [$((stringify!($name), u64::try_from(limits::$name).expect("fits"))),+]
    };
}

#[test]
fn every_limit_stands_there_with_its_value() {
    let values = values! {
        TOPIC_BYTES_MAX KEY_BYTES_MAX HEADERS_BYTES_MAX ATTRIBUTES_BYTES_MAX BODY_BYTES_MAX_DEFAULT
        BODY_BYTES_CEILING FRAME_OVERHEAD_BYTES_MAX FRAME_BYTES_MAX_BEFORE_HELLO RESPONSE_BYTES_MAX PUSH_JOBS_MAX KICK_JOBS_MAX
        REASON_BYTES_MAX BULK_JOBS_MAX LIST_JOBS_MAX LIST_BYTES_MAX LIST_LOOKS_MAX LIST_BY_KEY_JOBS_MAX CURSOR_BYTES_MAX FILTER_BYTES_MAX FILTER_REASON_BYTES_MAX DUE_BARS_MAX LEASES_MAX RESERVE_TOPICS_MAX RESERVE_JOBS_MAX RESERVE_BYTES_MAX CREDIT_JOBS_MAX CREDIT_BYTES_MAX SUBSCRIPTIONS_MAX
        CONNECTIONS_LISTED_MAX CONNECTION_TOPICS_MAX
        WAIT_MS_MAX DELAY_MS_MAX TTR_MS_MIN TTR_MS_DEFAULT TTR_MS_MAX TTR_LEFT_MS_MIN PRIORITY_DEFAULT PRIORITY_UNSAID RATE_PER_SECOND_MAX POLICY_BYTES_MAX TOPICS_MAX
        TOPIC_RETENTION_MS SESSIONS_MAX LAPSED_PRODUCERS_MAX OUTCOMES_MAX
        SESSION_GRACE_MS_DEFAULT HEARTBEAT_MS_MIN HEARTBEAT_MS_MAX SESSION_RETENTION_MS PRODUCER_WINDOW_MAX FINISHED_WINDOW_MAX IDEMPOTENT_PUSHES_MAX IDEMPOTENT_LIST_JOBS_MAX IDEMPOTENT_PUSH_MS INSTANTS_SHOWN_MAX
        FINISHED_WINDOW_MS LAPSE_LEASES_MAX DUE_PER_ENTRY_MAX DUE_BYTES_PER_ENTRY_MAX ENTRY_BYTES_TARGET ENTRY_BYTES_MAX BACKUP_READ_BYTES_MAX
        INPUT_BYTES_MAX INPUT_BYTES_PER_CONNECTION_MAX
        CALL_BACK_URL_BYTES_MAX CALL_BACK_HEADERS_BYTES_MAX CALL_BACK_BODY_BYTES_MAX CALL_BACK_CONDITION_BYTES_MAX CALL_BACK_SECRETS_BYTES_MAX
        CALL_BACK_TIMEOUT_MS_MIN CALL_BACK_TIMEOUT_MS_MAX CALL_BACK_CALLS_MAX CALL_BACK_LOG_MS_MAX
        GROUP_BYTES_MAX GROUP_WEIGHT_MAX GROUPS_SET_MAX GROUPS_LISTED_MAX CLIENT_BYTES_MAX
        SCHEDULE_NAME_BYTES_MAX SCHEDULE_WHEN_BYTES_MAX SCHEDULE_ZONE_BYTES_MAX SCHEDULE_NOTE_BYTES_MAX SCHEDULE_MISSED_MAX SCHEDULE_JITTER_MS_MAX SCHEDULES_LISTED_MAX
        BACKUP_IDLE_MS_MAX DEDUPE_RETENTION_MS_MAX CLIENT_NAME_BYTES_MAX TOKEN_BYTES_MAX BACKOFF_LIST_MAX
    };
    let listed: BTreeSet<&str> = values.iter().map(|(name, _)| *name).collect();
    // What nodes may say to each other is no business of clients.
    let declared = LIMITS_SOURCE.lines().filter_map(|line| line.strip_prefix("pub const "));
    let declared = declared.filter(|rest| !rest.starts_with("PEER_"));
    let declared: BTreeSet<&str> = declared.filter_map(|rest| rest.split(':').next()).collect();
    assert_eq!(listed, declared, "this test lists every limit");
    for (name, value) in values {
        let row = rows().find(|row| row.first().is_some_and(|cell| cell == name));
        let row = row.unwrap_or_else(|| panic!("no row for {name}"));
        let shown = row.get(1).map(|cell| cell.replace(',', ""));
        assert_eq!(shown, Some(value.to_string()), "{name}");
    }
}

#[test]
fn what_the_text_says_of_single_numbers_is_true() {
    assert!(DOCUMENT.starts_with(&format!("# The Adjourn protocol, version {VERSION}\n")));
    let magic = std::str::from_utf8(&MAGIC).expect("text");
    assert!(DOCUMENT.contains(&format!("| magic | 4 bytes | `{magic}`")));
}
