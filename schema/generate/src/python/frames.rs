//! `requests.py` and `responses.py`: the classes of frames, and the functions that write and read them. And the other direction, for
//! servers that tests play.

use super::decode::{self, Checks};
use super::elements;
use super::encode::{self, Late, Structs, writer_of};
use super::imports;
use super::naming;
use super::page::Page;
use super::shape::{self, Attribute, Shape};
use crate::schema::{Frame, Item, Kind, Record, Repeat, Schema, Side};

const REQUESTS_HEAD: &str = "from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .elements import NO_ATTRIBUTES, Attributes, Filter, TopicPolicy
@imports
from .values import JobRef
from .wire import LIST_HEAD, U8, U16, U32, U64, text, unfitting

";
const REQUEST: &str = "class Request:
    \"\"\"A frame that the client sends.\"\"\"

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]
    IS_REPEATABLE: ClassVar[bool]
    \"\"\"It may be sent again when nobody knows whether the server got it. DELETE: only by id.\"\"\"";
const RESPONSES_HEAD: &str = "from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from .elements import NO_ATTRIBUTES, Attributes, TopicPolicy
@imports
from .wire import (
    U8,
    U16,
    U32,
    U64,
    bytes_at,
    cut_off,
    late,
    late_text,
    list_at,
    records,
    text_at,
    texts_at,
    unpacker,
)

";
const RESPONSE: &str = "class Response:
    \"\"\"A frame that the server sends.\"\"\"

    __slots__ = ()
    OPCODE: ClassVar[int]
    NAME: ClassVar[str]
    IS_PROOF: ClassVar[bool]
    \"\"\"It proves that the session was connected to the leader after the request was sent; a frame of jobs, if it has one.\"\"\"";
const HEADERS: &str = "    @property
    def headers(self) -> dict[str, str]:
        \"\"\"Its headers. Of headers with the same name, the last one.\"\"\"
        return dict(self.attributes.headers)";
const PUSH_JOB: &str = "    _head: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def head(self) -> bytes:
        \"\"\"All of it but the body, as it travels: encoded once, to check it, to measure it and to send it.\"\"\"
        if self._head is None:
            try:
                self._head = _head_of(self)
            except struct.error as error:
                raise unfitting(error) from None
        return self._head

    @property
    def frame_bytes(self) -> int:
        \"\"\"Bytes that this job takes in a PUSH.\"\"\"
        return len(self.head) + len(self.body)";
const SERVER_HEAD: &str = "from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from adjourn.protocol import framing
from adjourn.protocol.elements import NO_ATTRIBUTES, Attributes, Filter, TopicPolicy
from adjourn.protocol.framing import Frame
@imports
from adjourn.protocol.wire import (
    LIST_HEAD,
    TAG,
    U8,
    U16,
    U32,
    U64,
    MalformedFrame,
    bytes_at,
    cut_off,
    exactly,
    late,
    late_text,
    list_at,
    records,
    text,
    text_at,
)
from harness.requests import (
    check_due,
    check_magic,
    check_range,
    check_release,
    check_topic,
    check_topics,
    check_ttr,
    late_wide,
    number_list_at,
    ref_at,
    text_list_at,
)

";
const SERVER: &str = "def decode_request(frame: Frame) -> Request:
    \"\"\"The request in a frame.\"\"\"
    if frame.request_id == 0:
        raise MalformedFrame(\"a request has an id other than 0\")
    read = REQUEST_READERS.get(frame.opcode)
    if read is None or frame.group != 0:
        raise MalformedFrame(f\"no request has the opcode 0x{frame.opcode:02x} of group {frame.group}\")
    return framing.read(read, frame)


def encode_response(request_id: int, message: Response) -> bytearray:
    \"\"\"A whole frame of a server.\"\"\"
    return framing.framed(request_id, message.OPCODE, message.NAME, RESPONSE_WRITERS[message.OPCODE], message)";

pub(super) fn requests(schema: &Schema) -> String {
    let (mut page, mut structs) = (Page::default(), Structs::default());
    page.gap();
    page.lines(REQUEST);
    for record in schema.records_of(Side::Request) {
        class_of_record(&mut page, schema, record);
    }
    for frame in &schema.requests {
        class_of_frame(&mut page, schema, frame);
    }
    for record in schema.records_of(Side::Request).filter(|record| record.name == "new_job") {
        page.gap();
        page.line(0, "def _head_of(one: PushJob) -> bytes:");
        encode::head(&mut page, &mut structs, schema, &shape::of_record(schema, record));
    }
    for frame in &schema.requests {
        writer(&mut page, &mut structs, schema, &shape::of_frame(schema, frame), Late::LeftOut);
    }
    page.gap();
    page.line(0, "WRITERS: dict[int, Callable[[Any, list[bytes]], None]] = {");
    for frame in &schema.requests {
        page.line(1, &format!("0x{:02X}: {},", frame.opcode, writer_of(&frame.name)));
    }
    page.line(0, "}");
    page.line(0, "\"\"\"What writes the payload of each request, by its opcode.\"\"\"");
    let head = REQUESTS_HEAD.replace("@imports\n", &imports::of_numbers(schema, ".numbers", &page));
    assembled("Requests: what a client sends.", &head, &structs, page)
}

pub(super) fn responses(schema: &Schema) -> String {
    let (mut page, mut structs) = (Page::default(), Structs::default());
    page.gap();
    page.lines(RESPONSE);
    let records = schema.records_of(Side::Response);
    let records = records.filter(|record| !schema.has_record(Side::Request, &record.name));
    for record in records.filter(|record| record.name != "shown") {
        class_of_record(&mut page, schema, record);
    }
    for frame in &schema.responses {
        class_of_frame(&mut page, schema, frame);
    }
    for record in lists_of(schema, Side::Response) {
        page.gap();
        decode::records(&mut page, &mut structs, schema, record, Checks::None);
    }
    for frame in &schema.responses {
        page.gap();
        decode::frame(&mut page, &mut structs, schema, &shape::of_frame(schema, frame), Checks::None);
    }
    page.gap();
    page.line(0, "READERS: dict[int, Callable[[bytes], Response]] = {");
    for frame in &schema.responses {
        page.line(1, &format!("0x{:02X}: {},", frame.opcode, decode::reader_of(&frame.name)));
    }
    page.line(0, "}");
    page.line(0, "\"\"\"What reads the payload of each response, by its opcode.\"\"\"");
    let imports = imports::of_numbers(schema, ".numbers", &page) + &imports::of_shared(schema, &page);
    let head = RESPONSES_HEAD.replace("@imports\n", &imports);
    assembled("Responses: what a server sends.", &head, &structs, page)
}

pub(super) fn server(schema: &Schema) -> String {
    let (mut page, mut structs) = (Page::default(), Structs::default());
    elements::filter_decoder(&mut page, schema);
    for record in lists_of(schema, Side::Request) {
        page.gap();
        decode::records(&mut page, &mut structs, schema, record, Checks::Ranges);
    }
    for frame in &schema.requests {
        page.gap();
        decode::frame(&mut page, &mut structs, schema, &shape::of_frame(schema, frame), Checks::Ranges);
    }
    for record in lists_of(schema, Side::Response) {
        let item = shape::of_record(schema, record);
        if item.has_pieces() {
            page.gap();
            let name = format!("_write_{}", record.name);
            page.line(0, &format!("def {name}(one: {}, parts: list[bytes]) -> None:", item.class));
            encode::frame(&mut page, &mut structs, schema, &item, Late::Written);
        }
    }
    for frame in &schema.responses {
        writer(&mut page, &mut structs, schema, &shape::of_frame(schema, frame), Late::Written);
    }
    page.gap();
    page.line(0, "REQUEST_READERS: dict[int, Callable[[bytes], Request]] = {");
    for frame in &schema.requests {
        page.line(1, &format!("0x{:02X}: {},", frame.opcode, decode::reader_of(&frame.name)));
    }
    page.line(0, "}");
    page.line(0, "RESPONSE_WRITERS: dict[int, Callable[[Any, list[bytes]], None]] = {");
    for frame in &schema.responses {
        page.line(1, &format!("0x{:02X}: {},", frame.opcode, writer_of(&frame.name)));
    }
    page.line(0, "}");
    page.gap();
    page.lines(SERVER);
    let head = SERVER_HEAD.replace("@imports\n", &imports::of_classes(schema, &page));
    assembled("The other side of the protocol, for servers that tests play.", &head, &structs, page)
}

/// Doc string, imports, structs, and what was written.
fn assembled(doc: &str, head: &str, structs: &Structs, page: Page) -> String {
    let begin = Page::new(doc).with_head(&(head.to_owned() + &structs.definitions()));
    begin + &page.with_head("")
}

/// The records that stand in lists of one side.
fn lists_of(schema: &Schema, side: Side) -> impl Iterator<Item = &Record> {
    let is_listed = move |record: &Record| {
        let mut fields = schema.frames(side).iter().flat_map(|frame| &frame.fields);
        fields.any(|field| field.kind == Kind::List(Item::Record(record.name.clone())))
    };
    schema.records.iter().filter(move |record| is_listed(record))
}

fn class_of_record(page: &mut Page, schema: &Schema, record: &Record) {
    let shape = shape::of_record(schema, record);
    if shape.is_bare() {
        return;
    }
    let is_report = shape.class == "JobReport";
    let attributes = if is_report { shape::of_reports(schema) } else { shape.attributes };
    let is_frozen = shape.class != "PushJob" && !naming::NOT_FROZEN.contains(&shape.class.as_str());
    page.gap();
    page.line(0, if is_frozen { "@dataclass(frozen=True, slots=True)" } else { "@dataclass(slots=True)" });
    page.line(0, &format!("class {}:", shape.class));
    let doc = match shape.class.as_str() {
        "PushJob" => "One job to push. Do not change it: its bytes are kept.",
        "JobReport" => {
            "A job as it stands. 0, an empty text or `None` means that it did not happen, or is not known."
        }
        "MemberReport" => "One member of the cluster, as one node sees it. `None`: not known.",
        _ => &shape.doc,
    };
    page.doc(1, doc);
    page.line(0, "");
    for attribute in &attributes {
        member(page, attribute, naming::has_defaults(&shape.class));
    }
    if shape.class == "PushJob" {
        page.lines(PUSH_JOB);
    } else if attributes.iter().any(|one| one.name == "attributes") {
        page.line(0, "");
        page.lines(HEADERS);
    }
}

fn member(page: &mut Page, attribute: &Attribute, has_default: bool) {
    // A secret must not get into a log with the frame.
    let is_shown = !naming::SECRET.contains(&attribute.name.as_str());
    let default = match (has_default, is_shown) {
        (true, true) => format!(" = {}", attribute.default),
        (true, false) => format!(" = field(default={}, repr=False)", attribute.default),
        (false, true) => String::new(),
        (false, false) => " = field(repr=False)".to_owned(),
    };
    page.line(1, &format!("{}: {}{default}", attribute.name, attribute.hint));
    if !attribute.doc.is_empty() {
        page.doc(1, &attribute.doc);
    }
}

fn class_of_frame(page: &mut Page, schema: &Schema, frame: &Frame) {
    let shape = shape::of_frame(schema, frame);
    let is_request = frame.side == Side::Request;
    page.gap();
    page.line(0, "@dataclass(frozen=True, slots=True)");
    let base = if is_request { "Request" } else { "Response" };
    page.line(0, &format!("class {}({base}):", shape.class));
    page.doc(1, &shape.doc);
    page.line(0, "");
    page.line(1, &format!("OPCODE = 0x{:02X}", frame.opcode));
    page.line(1, &format!("NAME = \"{}\"", frame.name));
    if is_request {
        let is_repeatable = if frame.repeat == Repeat::Safe { "True" } else { "False" };
        page.line(1, &format!("IS_REPEATABLE = {is_repeatable}"));
    } else {
        page.line(1, &format!("IS_PROOF = {}", if frame.is_proof { "True" } else { "False" }));
    }
    for attribute in &shape.attributes {
        member(page, attribute, !is_request || attribute.is_late);
    }
}

fn writer(page: &mut Page, structs: &mut Structs, schema: &Schema, shape: &Shape, late: Late) {
    page.gap();
    page.line(
        0,
        &format!("def {}(one: {}, parts: list[bytes]) -> None:", writer_of(&shape.name), shape.class),
    );
    if shape.wires.is_empty() {
        page.line(1, "\"\"\"It has no fields.\"\"\"");
        return;
    }
    encode::frame(page, structs, schema, shape, late);
}
