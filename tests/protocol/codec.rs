//! The codec against all possible input: an encoded value decodes to the same value, truncated or random bytes
//! are an error and never a panic, and the division of bytes into reads makes no difference.
//!
//! The messages are drawn as the schema describes them, byte by byte, so what the codec reads and writes is compared with
//! the schema, and not only with itself.

mod kind;
#[rustfmt::skip]
mod messages;
mod payload;
mod rules;
mod spoilt;

use std::fmt::Debug;
use std::num::NonZeroU128;

use adjourn_protocol::{
    DecodeError, ErrorCode, ErrorReply, Frame, FrameDecoder, FrameError, FrameHeader, Idempotency, JobReport,
    NewJob, Push, PushResult, Request, RequestId, Reserve, Response, Subscribe, frame,
};
use adjourn_types::limits::{
    ATTRIBUTES_BYTES_MAX, BODY_BYTES_CEILING, BODY_BYTES_MAX_DEFAULT, CONNECTIONS_LISTED_MAX,
    CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, DELAY_MS_MAX, LEASES_MAX, PUSH_JOBS_MAX, RESERVE_JOBS_MAX,
    RESERVE_TOPICS_MAX, TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{AttributesBuilder, BuryReason, GroupId, JobId, JobState, Millis, TopicName, When};
use bytes::{BufMut as _, Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use kind::any_of;
use messages::{REQUESTS, RESPONSES};
use payload::{ID, Message, Record, Value};
use spoilt::spoilt;

const FRAME_BYTES_MAX: u32 = 64 << 20;

/// What the codec reads from any request.
fn request() -> impl Strategy<Value = Request> {
    any_of(&REQUESTS).prop_map(|message| message.request())
}

/// The least message, or record, of this kind: to be changed.
fn least<T: Debug>(of: &BoxedStrategy<T>) -> T {
    let mut tree = of.new_tree(&mut TestRunner::deterministic()).expect("nothing is refused");
    while tree.simplify() {}
    tree.current()
}

fn only_frame(bytes: &[u8]) -> Frame {
    let mut buffer = BytesMut::from(bytes);
    let frame = FrameDecoder::new(FRAME_BYTES_MAX).next(&mut buffer).expect("valid").expect("whole");
    assert!(buffer.is_empty(), "the length covers the frame");
    frame
}

fn decode_request(frame: &Frame) -> Result<Request, DecodeError> {
    Request::decode(frame, BODY_BYTES_CEILING)
}

fn frame_of(opcode: u8, payload: Bytes) -> Frame {
    let length = u32::try_from(payload.len() + 8).expect("short");
    Frame { header: FrameHeader { length, opcode, flags: 0, group: GroupId(0), id: ID }, payload }
}

#[test]
fn a_text_that_encoding_would_cut_is_refused() {
    let check = |bytes| {
        let mut request = least(&messages::cluster_add()).request();
        let Request::ClusterAdd { address, .. } = &mut request else { panic!("{request:?}") };
        *address = "a".repeat(bytes);
        request.validate(0)
    };
    assert_eq!(check(255), Ok(()));
    assert_eq!(check(256), Err(DecodeError::TooLong { field: "address", bytes: 256, max: 255 }));
}

proptest! {
    // There are some forty kinds of messages: enough for each.
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn requests_survive_the_wire(message in any_of(&REQUESTS)) {
        let request = message.request();
        for form in message.forms() {
            prop_assert_eq!(decode_request(&message.frame(form)), Ok(request.clone()));
        }
        let mut out = BytesMut::new();
        let written = request.encode(ID, &mut out);
        prop_assert_eq!(written, out.len());
        let frame = only_frame(&out);
        prop_assert_eq!((frame.header.id, frame.header.opcode), (ID, message.opcode));
        prop_assert!(message.forms().contains(&frame.payload), "{:?} is written as {:?}", request, frame.payload);
        prop_assert_eq!(decode_request(&frame), Ok(request));
    }

    #[test]
    fn a_request_is_refused_before_it_is_sent_as_it_is_when_it_is_read(request in spoilt()) {
        let body_bytes_max = 100;
        let read = Request::decode(&encoded(&request), body_bytes_max);
        prop_assert_eq!(request.validate(body_bytes_max), read.map(drop));
    }

    #[test]
    fn a_value_beyond_a_bound_of_the_schema_is_refused(message in any_of(&REQUESTS)) {
        for beyond in message.beyond() {
            let read = decode_request(&beyond.frame(beyond.payload()));
            prop_assert!(read.is_err(), "{:?}", read);
        }
    }

    #[test]
    fn responses_survive_the_wire(message in any_of(&RESPONSES)) {
        let response = message.response();
        for form in message.forms() {
            prop_assert_eq!(Response::decode(&message.frame(form)), Ok(response.clone()));
        }
        let mut out = BytesMut::new();
        let written = response.encode(ID, &mut out);
        prop_assert_eq!(written, out.len());
        let frame = only_frame(&out);
        prop_assert_eq!((frame.header.id, frame.header.opcode), (ID, message.opcode));
        if message.is_known() {
            prop_assert_eq!(&frame.payload, &message.payload(), "{:?}", response);
        }
        prop_assert_eq!(Response::decode(&frame), Ok(response));
    }

    #[test]
    fn a_payload_cut_short_anywhere_is_malformed(
        request in any_of(&REQUESTS),
        response in any_of(&RESPONSES),
    ) {
        is_malformed_when_cut(&request, decode_request)?;
        is_malformed_when_cut(&response, Response::decode)?;
    }

    #[test]
    fn what_a_newer_peer_adds_is_skipped(
        request in any_of(&REQUESTS),
        response in any_of(&RESPONSES),
        extra in vec(any::<u8>(), 1..40),
    ) {
        let longer = |message: &Message| {
            let frame = message.frame(message.with_newer_items(&extra));
            Frame { header: FrameHeader { flags: 0xFF, ..frame.header }, ..frame }
        };
        prop_assert_eq!(decode_request(&longer(&request)), Ok(request.request()));
        prop_assert_eq!(Response::decode(&longer(&response)), Ok(response.response()));
    }

    #[test]
    fn what_an_older_peer_leaves_out_of_its_items_is_absent(
        request in any_of(&REQUESTS),
        response in any_of(&RESPONSES),
    ) {
        let (short, whole) = request.with_older_items();
        prop_assert_eq!(decode_request(&request.frame(short)), decode_request(&request.frame(whole)));
        let (short, whole) = response.with_older_items();
        let [short, whole] = [short, whole].map(|payload| Response::decode(&response.frame(payload)));
        prop_assert!(short.is_ok());
        prop_assert_eq!(short, whole);
    }

    #[test]
    fn random_payloads_never_panic(opcode: u8, payload in vec(any::<u8>(), 0..300)) {
        let frame = frame_of(opcode, payload.into());
        if let Ok(request) = decode_request(&frame) {
            let mut out = BytesMut::new();
            request.encode(ID, &mut out);
            prop_assert_eq!(decode_request(&only_frame(&out)), Ok(request));
        }
        if let Ok(response) = Response::decode(&frame) {
            let mut out = BytesMut::new();
            response.encode(ID, &mut out);
            prop_assert_eq!(Response::decode(&only_frame(&out)), Ok(response));
        }
    }

    #[test]
    fn a_flipped_byte_never_panics(request in request(), at: prop::sample::Index, flip in 1..=u8::MAX) {
        let mut out = BytesMut::new();
        request.encode(ID, &mut out);
        let at = at.index(out.len());
        if let Some(byte) = out.get_mut(at) {
            *byte ^= flip;
        }
        if let Ok(Some(frame)) = FrameDecoder::new(FRAME_BYTES_MAX).next(&mut out) {
            let _ = decode_request(&frame);
            let _ = Response::decode(&frame);
        }
    }

    #[test]
    fn how_the_stream_is_cut_makes_no_difference(
        requests in vec(request(), 1..5),
        bad_end: bool,
        sizes in vec(1..600_usize, 1..20),
    ) {
        let mut stream = BytesMut::new();
        for (id, request) in (1..).zip(&requests) {
            request.encode(RequestId(id), &mut stream);
        }
        if bad_end {
            stream.put_slice(&[0xFF; 12]);
        }
        let whole = frames_of(&stream, [stream.len()].into_iter());
        prop_assert_eq!(whole.0.len(), requests.len());
        prop_assert_eq!(whole.1.is_some(), bad_end);
        let (ones, pieces) = (std::iter::repeat(1), sizes.iter().copied().cycle());
        prop_assert_eq!(&frames_of(&stream, ones), &whole);
        prop_assert_eq!(&frames_of(&stream, pieces), &whole);
    }
}

fn encoded(request: &Request) -> Frame {
    let mut out = BytesMut::new();
    request.encode(ID, &mut out);
    only_frame(&out)
}

/// A payload that ends anywhere is malformed, unless an older peer sends no more: then it says what it says with the rest 0
/// or empty.
fn is_malformed_when_cut<T: Debug + PartialEq>(
    message: &Message,
    read: impl Fn(&Frame) -> Result<T, DecodeError>,
) -> Result<(), TestCaseError> {
    let (payload, ends) = (message.payload(), message.ends());
    for length in 0..payload.len() {
        let cut = read(&message.frame(payload.slice(..length)));
        if let Some((_, whole)) = ends.iter().find(|(end, _)| *end == length) {
            prop_assert_eq!(cut.ok(), read(&message.frame(whole.clone())).ok());
        } else {
            let code = cut.map_err(|error| error.code());
            prop_assert_eq!(code.err(), Some(ErrorCode::Malformed), "{} bytes", length);
        }
    }
    Ok(())
}

/// The frames that a decoder finds in `stream` when reads bring these numbers of bytes.
fn frames_of(stream: &[u8], sizes: impl Iterator<Item = usize>) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    let (mut rest, mut buffer, mut frames) = (stream, BytesMut::new(), Vec::new());
    for size in sizes {
        if rest.is_empty() {
            break;
        }
        let (read, unread) = rest.split_at(size.min(rest.len()));
        rest = unread;
        decoder.prepare(&mut buffer);
        buffer.extend_from_slice(read);
        loop {
            match decoder.next(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

/// The code with which a request is refused after its encoding, which checks nothing.
fn refused(request: &Request) -> Option<ErrorCode> {
    let mut out = BytesMut::new();
    request.encode(ID, &mut out);
    Request::decode(&only_frame(&out), BODY_BYTES_MAX_DEFAULT).err().map(|error| error.code())
}

/// The code with which a message is refused.
fn code_of(message: &Message) -> Option<ErrorCode> {
    decode_request(&message.frame(message.payload())).err().map(|error| error.code())
}

/// A push of these jobs, without protection against repeats.
fn push_of(jobs: Vec<NewJob>) -> Push {
    let Request::Push(mut push) = least(&messages::push()).request() else { panic!("a push") };
    push.jobs = jobs;
    push
}

#[test]
fn pushes_at_their_limits() {
    let of = |jobs| refused(&Request::Push(push_of(jobs)));
    let push = |change: &dyn Fn(&mut NewJob)| {
        let mut job = NewJob::new("close it");
        change(&mut job);
        of(vec![job])
    };
    let (fine, invalid, too_large) = (None, Some(ErrorCode::Invalid), Some(ErrorCode::TooLarge));
    assert_eq!(push(&|job| job.due = When::After(DELAY_MS_MAX)), fine);
    assert_eq!(push(&|job| job.due = When::After(DELAY_MS_MAX + 1)), invalid);
    assert_eq!(push(&|job| job.due = When::At(Millis(u64::MAX))), fine, "no clock here to compare with");
    assert_eq!(push(&|job| job.ttr_ms = TTR_MS_MIN), fine);
    assert_eq!(push(&|job| job.ttr_ms = TTR_MS_MIN - 1), invalid);
    assert_eq!(push(&|job| job.ttr_ms = TTR_MS_MAX), fine);
    assert_eq!(push(&|job| job.ttr_ms = TTR_MS_MAX + 1), invalid);
    assert_eq!(push(&|job| job.body = vec![0; BODY_BYTES_MAX_DEFAULT].into()), fine);
    assert_eq!(push(&|job| job.body = vec![0; BODY_BYTES_MAX_DEFAULT + 1].into()), too_large);
    assert_eq!(of(Vec::new()), Some(ErrorCode::Malformed));
    assert_eq!(of(vec![NewJob::new(""); PUSH_JOBS_MAX]), fine);
    assert_eq!(of(vec![NewJob::new(""); PUSH_JOBS_MAX + 1]), too_large);
}

#[test]
fn consumers_at_their_limits() {
    let reserve = |topics: usize, jobs_max: u32, wait_ms: u64| {
        let reserve = least(&messages::reserve()).repeated("topics", topics);
        code_of(&reserve.with("jobs_max", jobs_max).with("wait_ms", wait_ms))
    };
    let (fine, invalid, too_large) = (None, Some(ErrorCode::Invalid), Some(ErrorCode::TooLarge));
    assert_eq!(reserve(RESERVE_TOPICS_MAX, RESERVE_JOBS_MAX, WAIT_MS_MAX), fine);
    assert_eq!(reserve(RESERVE_TOPICS_MAX + 1, 1, 0), too_large);
    assert_eq!(reserve(0, 1, 0), Some(ErrorCode::Malformed));
    assert_eq!(reserve(1, 0, 0), invalid);
    assert_eq!(reserve(1, RESERVE_JOBS_MAX + 1, 0), invalid);
    assert_eq!(reserve(1, 1, WAIT_MS_MAX + 1), invalid);
    for message in [messages::subscribe, messages::credit] {
        let credit = |jobs: u32, bytes: u64| {
            code_of(&least(&message()).with("credit_jobs", jobs).with("credit_bytes", bytes))
        };
        assert_eq!(credit(CREDIT_JOBS_MAX, CREDIT_BYTES_MAX), fine);
        assert_eq!(credit(CREDIT_JOBS_MAX + 1, 0), invalid);
        assert_eq!(credit(0, CREDIT_BYTES_MAX + 1), invalid);
    }
    let leases = |jobs_max: u32| code_of(&least(&messages::leases()).with("jobs_max", jobs_max));
    assert_eq!([1, RESERVE_JOBS_MAX].map(leases), [fine; 2]);
    assert_eq!([0, RESERVE_JOBS_MAX + 1].map(leases), [invalid; 2]);
    let connections = |max: u32| code_of(&least(&messages::connections()).with("connections_max", max));
    assert_eq!([1, CONNECTIONS_LISTED_MAX].map(connections), [fine; 2]);
    assert_eq!([0, CONNECTIONS_LISTED_MAX + 1].map(connections), [invalid; 2]);
}

#[test]
fn a_weight_for_each_topic_or_for_none() {
    let topic = "orders".parse().expect("a topic");
    let weighed = |count: usize, of: &[u16]| {
        [messages::reserve, messages::subscribe].map(|message| {
            let mut request = least(&message()).request();
            let (Request::Reserve(Reserve { topics, weights, .. })
            | Request::Subscribe(Subscribe { topics, weights, .. })) = &mut request
            else {
                panic!("{request:?}")
            };
            (*topics, *weights) = (vec![TopicName::clone(&topic); count], of.to_vec());
            refused(&request)
        })
    };
    let (fine, invalid) = ([None; 2], [Some(ErrorCode::Invalid); 2]);
    assert_eq!(weighed(RESERVE_TOPICS_MAX, &[u16::MAX; RESERVE_TOPICS_MAX]), fine);
    assert_eq!(weighed(2, &[1, 1]), fine);
    assert_eq!(weighed(2, &[1, 0]), invalid);
    assert_eq!(weighed(2, &[1]), invalid);
    assert_eq!(weighed(2, &[1, 1, 1]), invalid);
    assert_eq!(weighed(1, &[1; RESERVE_TOPICS_MAX + 1]), [Some(ErrorCode::TooLarge); 2]);
}

#[test]
fn leases_at_their_limits() {
    let finish = |count: usize| code_of(&least(&messages::finish()).repeated("leases", count));
    let (fine, invalid, too_large) = (None, Some(ErrorCode::Invalid), Some(ErrorCode::TooLarge));
    assert_eq!(finish(LEASES_MAX), fine);
    assert_eq!(finish(LEASES_MAX + 1), too_large);
    assert_eq!(finish(0), Some(ErrorCode::Malformed));
    let release = |delay_ms: u64| code_of(&least(&messages::release()).with("delay_ms", delay_ms));
    assert_eq!(release(DELAY_MS_MAX), fine);
    assert_eq!(release(DELAY_MS_MAX + 1), invalid);
    let touch = |ttr_ms: u32| code_of(&least(&messages::touch()).with("ttr_ms", ttr_ms));
    assert_eq!(touch(TTR_MS_MAX), fine);
    assert_eq!(touch(TTR_MS_MAX + 1), invalid);
    assert_eq!(touch(TTR_MS_MIN - 1), invalid);
}

#[test]
fn each_bad_field_has_its_code() {
    let with = |change: &dyn Fn(&mut Record)| {
        let mut push = least(&messages::push());
        change(&mut push.record);
        code_of(&push)
    };
    let with_topic = |topic: &[u8]| with(&|push| push.put("topic", topic));
    let with_job =
        |change: &dyn Fn(&mut Record)| with(&|push| push.items("jobs").iter_mut().for_each(change));
    let with_attributes = |bytes: &[u8]| with_job(&|job| job.put("attributes", bytes));
    assert_eq!(with(&|_| {}), None);
    assert_eq!(with_topic(b""), Some(ErrorCode::Invalid));
    assert_eq!(with_topic(b"a b"), Some(ErrorCode::Invalid));
    assert_eq!(with_topic(&[b'a'; 201]), Some(ErrorCode::TooLarge));
    assert_eq!(with_job(&|job| job.set("due_kind", 9)), Some(ErrorCode::Unsupported));
    assert_eq!(with_job(&|job| job.set("if_exists", 9)), Some(ErrorCode::Unsupported));
    assert_eq!(with_job(&|job| job.set("if_exists", 5)), Some(ErrorCode::Unsupported));
    assert_eq!(with_job(&|job| job.put("key", b"\n")), Some(ErrorCode::Invalid));
    assert_eq!(with_job(&|job| job.put("key", &[b'k'; 257])), Some(ErrorCode::TooLarge));
    assert_eq!(with_attributes(&[1, 0, 9]), Some(ErrorCode::Malformed));
    assert_eq!(with_attributes(&[0, 0x83, 0, 0]), Some(ErrorCode::Unsupported));
    let longest = [&[9, 0, 8, 0], &(DELAY_MS_MAX + 1).to_le_bytes()[..]].concat();
    assert_eq!(with_attributes(&longest), Some(ErrorCode::Invalid));
    assert_eq!(with_attributes(&vec![0; ATTRIBUTES_BYTES_MAX + 1]), Some(ErrorCode::TooLarge));
}

#[test]
fn a_frame_that_is_none_of_ours_is_answered() {
    let ping = frame_of(0x02, Bytes::new());
    let header = |header: FrameHeader| decode_request(&Frame { header, payload: Bytes::new() });
    assert_eq!(header(ping.header), Ok(Request::Ping));
    let unknown = header(FrameHeader { opcode: 0x6E, ..ping.header });
    assert_eq!(unknown, Err(DecodeError::Opcode(0x6E)));
    assert_eq!(unknown.map_err(|error| ErrorReply::from(error).code), Err(ErrorCode::Unsupported));
    assert_eq!(header(FrameHeader { group: GroupId(1), ..ping.header }), Err(DecodeError::Group(1)));
    assert_eq!(header(FrameHeader { id: RequestId(0), ..ping.header }), Err(DecodeError::RequestIdZero));
    let stray = frame_of(0x01, Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert_eq!(decode_request(&stray), Err(DecodeError::Magic));
}

#[test]
fn bodies_are_slices_of_what_was_read() {
    let mut out = BytesMut::new();
    Request::Push(push_of(vec![NewJob::new("close it")])).encode(ID, &mut out);
    let frame = only_frame(&out);
    let Ok(Request::Push(push)) = decode_request(&frame) else { panic!("a push") };
    let body = &push.jobs.first().expect("one job").body;
    assert!(frame.payload.as_ptr_range().contains(&body.as_ptr()), "the body is not copied");
    assert_eq!(frame.payload.slice_ref(body), "close it");
}

#[test]
fn the_largest_body_fits_the_largest_frame_with_all_its_fields() {
    let mut job = NewJob::new(vec![0; BODY_BYTES_CEILING]);
    job.key = Some("k".repeat(256).parse().expect("a key"));
    let filling = vec![0; ATTRIBUTES_BYTES_MAX - 4];
    job.attributes = AttributesBuilder::default().raw(900, filling).build().expect("valid");
    let mut push = push_of(vec![job]);
    push.topic = "t".repeat(200).parse().expect("a topic");
    let mut out = BytesMut::new();
    let written = Request::Push(push).encode(ID, &mut out);
    let max = frame::frame_bytes_max(BODY_BYTES_CEILING);
    assert!(written <= max as usize, "{written}");
    assert!(FrameDecoder::new(max).next(&mut out).is_ok_and(|frame| frame.is_some()));
}

#[test]
fn the_last_sequence_number_of_a_push_is_a_number() {
    let code = |sequence, count| {
        let mut push = push_of(vec![NewJob::new("x"); count]);
        push.sequence = sequence;
        refused(&Request::Push(push))
    };
    assert_eq!([code(u64::MAX, 1), code(u64::MAX - 1, 2), code(0, 3)], [None; 3]);
    assert_eq!([code(u64::MAX, 2), code(u64::MAX - 1, 3)], [Some(ErrorCode::Invalid); 2]);
}

#[test]
fn a_push_says_how_long_its_list_is_if_it_is_a_part_of_it() {
    let push = |list_jobs| {
        let mut push = push_of(vec![NewJob::new("x"); 3]);
        push.idempotency = NonZeroU128::new(9).map(|key| Idempotency { key, list_jobs });
        Request::Push(push)
    };
    for list_jobs in [3, 4, u32::MAX] {
        assert_eq!(Request::decode(&encoded(&push(list_jobs)), 100), Ok(push(list_jobs)));
    }
    let [whole, part] = [3, 4].map(|list_jobs| encoded(&push(list_jobs)).payload.len());
    assert_eq!(part, whole + 4);
    assert_eq!(refused(&push(2)), Some(ErrorCode::Invalid), "a list is no shorter than its part");
}

#[test]
fn numbers_that_only_a_newer_server_knows_cost_nothing_else() {
    let changed = least(&messages::changed()).with("state", JobState::Ready as u8);
    let Response::Changed { job, due, version, .. } = changed.response() else { panic!("a CHANGED") };
    let newer = Response::Changed { job, state: None, due, version };
    assert_eq!(changed.with("state", 9_u8).response(), newer);

    let report = |state: u8, buried: u8| {
        let mut message = least(&messages::job());
        let Some(Value::Part(shown)) = message.record.value_mut("shown") else { panic!("a job") };
        shown.set("state", state.into());
        shown.set("buried", buried.into());
        let Response::Job(report) = message.response() else { panic!("a JOB") };
        *report
    };
    let buried = report(JobState::Buried as u8, 1);
    assert_eq!((buried.state, buried.buried), (Some(JobState::Buried), Some(BuryReason::Consumer)));
    assert_eq!(report(9, 1), JobReport { state: None, ..buried.clone() });
    assert_eq!(report(JobState::Buried as u8, 9), JobReport { buried: None, ..buried });

    let (mut pushed, mut result) = (least(&messages::pushed()), least(&messages::push_result_record()));
    result.set("outcome", 9);
    result.set("job", 7);
    pushed.record.items("results").push(result);
    let unknown = PushResult::Refused(ErrorCode::OutcomeUnknown, Some(JobId(7)));
    assert_eq!(pushed.response(), Response::Pushed(vec![unknown]));
}
