//! The codec against all possible input: an encoded value decodes to the same value, truncated or random bytes
//! are an error and never a panic, and the division of bytes into reads makes no difference.

mod messages;
mod policies;
mod spoilt;

use std::num::NonZeroU128;

use adjourn_protocol::{
    Bulk, Change, DecodeError, ErrorCode, ErrorReply, Frame, FrameDecoder, FrameError, FrameHeader,
    GoingAway, Idempotency, JobReport, NewJob, Push, PushResult, ReleaseKind, Request, RequestId, Reserve,
    Response, StatsReport, Subscribe, frame,
};
use adjourn_types::limits::{
    ATTRIBUTES_BYTES_MAX, BODY_BYTES_CEILING, BODY_BYTES_MAX_DEFAULT, CONNECTIONS_LISTED_MAX,
    CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, DELAY_MS_MAX, LEASES_MAX, PUSH_JOBS_MAX, RESERVE_JOBS_MAX,
    RESERVE_TOPICS_MAX, TTR_MS_MAX, TTR_MS_MIN, WAIT_MS_MAX,
};
use adjourn_types::{
    Attributes, AttributesBuilder, BuryReason, Fence, GroupId, JobHistory, JobId, JobState, Lease, Millis,
    TopicName, When,
};
use bytes::{BufMut as _, Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;

use messages::*;
use spoilt::spoilt;

const FRAME_BYTES_MAX: u32 = 64 << 20;
const ID: RequestId = RequestId(77);
const FRAME_HEADER_BYTES: usize = 12;

fn only_frame(bytes: &[u8]) -> Frame {
    let mut buffer = BytesMut::from(bytes);
    let frame = FrameDecoder::new(FRAME_BYTES_MAX).next(&mut buffer).expect("valid").expect("whole");
    assert!(buffer.is_empty(), "the length covers the frame");
    frame
}

fn decode_request(frame: &Frame) -> Result<Request, DecodeError> {
    Request::decode(frame, BODY_BYTES_CEILING)
}

/// The same frame with another payload.
fn with_payload(frame: &Frame, payload: Bytes) -> Frame {
    Frame { header: frame.header, payload }
}

fn frame_of(opcode: u8, payload: Bytes) -> Frame {
    let length = u32::try_from(payload.len() + 8).expect("short");
    Frame { header: FrameHeader { length, opcode, flags: 0, group: GroupId(0), id: ID }, payload }
}

#[test]
fn a_text_that_encoding_would_cut_is_refused() {
    let check = |bytes| Request::ClusterAdd { address: "a".repeat(bytes) }.validate(0);
    assert_eq!(check(255), Ok(()));
    assert_eq!(check(256), Err(DecodeError::TooLong { field: "address", bytes: 256, max: 255 }));
}

proptest! {
    #[test]
    fn requests_survive_the_wire(request in request()) {
        let mut out = BytesMut::new();
        let written = request.encode(ID, &mut out);
        prop_assert_eq!(written, out.len());
        let frame = only_frame(&out);
        prop_assert_eq!(frame.header.id, ID);
        prop_assert_eq!(decode_request(&frame), Ok(request));
    }

    #[test]
    fn a_request_is_refused_before_it_is_sent_as_it_is_when_it_is_read(request in spoilt()) {
        let body_bytes_max = 100;
        let read = Request::decode(&encoded(&request), body_bytes_max);
        prop_assert_eq!(request.validate(body_bytes_max), read.map(drop));
    }

    #[test]
    fn responses_survive_the_wire(response in response()) {
        let mut out = BytesMut::new();
        let written = response.encode(ID, &mut out);
        prop_assert_eq!(written, out.len());
        let frame = only_frame(&out);
        prop_assert_eq!(frame.header.id, ID);
        prop_assert_eq!(Response::decode(&frame), Ok(response));
    }

    #[test]
    fn a_payload_cut_short_anywhere_is_malformed(request in request(), response in response()) {
        let mut out = BytesMut::new();
        request.encode(ID, &mut out);
        let frame = only_frame(&out);
        for length in 0..frame.payload.len() {
            let cut = with_payload(&frame, frame.payload.slice(..length));
            match decode_request(&cut) {
                Ok(older) => {
                    let expected = of_older(request.clone());
                    prop_assert_eq!(length, late_at(&request), "{} bytes of {:?}", length, request);
                    prop_assert_eq!(older, expected);
                }
                Err(error) => {
                    prop_assert_eq!(error.code(), ErrorCode::Malformed, "{} bytes of {:?}", length, request);
                }
            }
        }
        out.clear();
        response.encode(ID, &mut out);
        let frame = only_frame(&out);
        for length in 0..frame.payload.len() {
            let cut = with_payload(&frame, frame.payload.slice(..length));
            match (Response::decode(&cut), &response) {
                (Ok(Response::Pong { clock_ms: 0, .. }), Response::Pong { .. })
                | (Ok(Response::Changed { version: 0, .. }), Response::Changed { .. })
                    if length == frame.payload.len() - 8 => {}
                (Ok(Response::Bulked { in_the_way: 0, .. }), Response::Bulked { .. })
                    if length == frame.payload.len() - 4 => {}
                (Ok(Response::Welcome(older)), Response::Welcome(_))
                    if older.clock_ms == 0 && length == frame.payload.len() - 8 => {}
                (Ok(Response::GoingAway { reason: GoingAway::Unknown, .. }), Response::GoingAway { .. })
                    if length == frame.payload.len() - 1 => {}
                (Ok(Response::Job(older)), Response::Job(job)) => {
                    prop_assert!(late_fields(job).contains(&(frame.payload.len() - length)), "{}", length);
                    prop_assert_eq!(without_history(&older), without_history(job));
                }
                (Ok(Response::Stats(older)), Response::Stats(stats)) => {
                    let stages_bytes: usize = stats.stages.iter().map(|one| 41 + one.stage.len()).sum();
                    prop_assert_eq!(frame.payload.len() - length, 6 + stages_bytes);
                    prop_assert_eq!(older, Box::new(StatsReport { stages: Vec::new(), ..*stats.clone() }));
                }
                (decoded, _) => prop_assert!(decoded.is_err(), "{} bytes of {:?}", length, response),
            }
        }
    }

    #[test]
    fn what_a_newer_peer_adds_is_skipped(
        request in request(),
        response in response(),
        extra in vec(any::<u8>(), 1..40),
    ) {
        let longer = |frame: &Frame| {
            let payload = [frame.payload.as_ref(), extra.as_slice()].concat();
            let header = FrameHeader { flags: 0xFF, ..frame.header };
            Frame { header, payload: payload.into() }
        };
        let mut out = BytesMut::new();
        // A sender with later fields also sends the optional fields before them, even if they are empty.
        let mut frame = encoded(&request);
        frame.payload = [frame.payload.as_ref(), absent(&request)].concat().into();
        prop_assert_eq!(decode_request(&longer(&frame)), Ok(request));
        response.encode(ID, &mut out);
        prop_assert_eq!(Response::decode(&longer(&only_frame(&out))), Ok(response));
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

/// As older clients send it, who know no reasons, no weights, no keys of pushes and no versions.
fn of_older(request: Request) -> Request {
    match request {
        Request::Release { leases, kind, .. } => Request::Release { leases, kind, reason: None },
        Request::Bury { leases, .. } => Request::Bury { leases, reason: None },
        Request::Push(push) => Request::Push(Push { idempotency: None, ..push }),
        Request::Reschedule { job, due, .. } => Request::Reschedule { job, due, if_version: None },
        Request::Reserve(reserve) => Request::Reserve(Reserve { weights: Vec::new(), ..reserve }),
        Request::Subscribe(subscribe) => Request::Subscribe(Subscribe { weights: Vec::new(), ..subscribe }),
        other => other,
    }
}

/// Where what older clients send ends.
fn late_at(request: &Request) -> usize {
    encoded(&of_older(request.clone())).payload.len()
}

/// What stands for a field that older clients do not send, if the request leaves it out.
fn absent(request: &Request) -> &'static [u8] {
    match request {
        Request::Release { reason: None, .. } | Request::Bury { reason: None, .. } => &[0, 0],
        Request::Reserve(Reserve { weights, .. }) | Request::Subscribe(Subscribe { weights, .. })
            if weights.is_empty() =>
        {
            &[2, 0, 0, 0, 0, 0]
        }
        Request::Push(Push { idempotency: None, .. }) => &[0; 20],
        Request::Push(_) => &[0; 4],
        Request::Reschedule { if_version: None, .. } => &[0; 8],
        Request::Bulk(Bulk { change, .. }) if !matches!(change, Change::Move { .. }) => &[0],
        _ => &[],
    }
}

fn without_history(job: &JobReport) -> JobReport {
    JobReport { history: JobHistory::default(), version: 0, ..job.clone() }
}

/// So many bytes before the end of a JOB a field begins that older servers do not send.
fn late_fields(job: &JobReport) -> [usize; 7] {
    let version_bytes = 8;
    let finished_bytes = version_bytes + 8;
    let reason_bytes = 2 + job.history.reason.as_ref().map_or(0, String::len);
    let from_reason = finished_bytes + reason_bytes;
    [
        version_bytes,
        finished_bytes,
        from_reason,
        from_reason + 8,
        from_reason + 16,
        from_reason + 24,
        from_reason + 32,
    ]
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

fn push_of(jobs: Vec<NewJob>) -> Request {
    Request::Push(Push { topic: "orders".parse().expect("a topic"), sequence: 0, jobs, idempotency: None })
}

#[test]
fn pushes_at_their_limits() {
    let push = |change: &dyn Fn(&mut NewJob)| {
        let mut job = NewJob::new("close it");
        change(&mut job);
        refused(&push_of(vec![job]))
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
    assert_eq!(refused(&push_of(Vec::new())), Some(ErrorCode::Malformed));
    assert_eq!(refused(&push_of(vec![NewJob::new(""); PUSH_JOBS_MAX])), fine);
    assert_eq!(refused(&push_of(vec![NewJob::new(""); PUSH_JOBS_MAX + 1])), too_large);
}

#[test]
fn consumers_at_their_limits() {
    let topic: TopicName = "orders".parse().expect("a topic");
    let reserve = |topics: usize, jobs_max, wait_ms| {
        let topics = vec![topic.clone(); topics];
        refused(&Request::Reserve(Reserve { topics, jobs_max, wait_ms, weights: Vec::new() }))
    };
    let (fine, invalid, too_large) = (None, Some(ErrorCode::Invalid), Some(ErrorCode::TooLarge));
    assert_eq!(reserve(RESERVE_TOPICS_MAX, RESERVE_JOBS_MAX, WAIT_MS_MAX), fine);
    assert_eq!(reserve(RESERVE_TOPICS_MAX + 1, 1, 0), too_large);
    assert_eq!(reserve(0, 1, 0), Some(ErrorCode::Malformed));
    assert_eq!(reserve(1, 0, 0), invalid);
    assert_eq!(reserve(1, RESERVE_JOBS_MAX + 1, 0), invalid);
    assert_eq!(reserve(1, 1, WAIT_MS_MAX + 1), invalid);
    let subscribe = |credit_jobs, credit_bytes| {
        let topics = vec![topic.clone()];
        refused(&Request::Subscribe(Subscribe { topics, credit_jobs, credit_bytes, weights: Vec::new() }))
    };
    assert_eq!(subscribe(CREDIT_JOBS_MAX, CREDIT_BYTES_MAX), fine);
    assert_eq!(subscribe(CREDIT_JOBS_MAX + 1, 0), invalid);
    assert_eq!(subscribe(0, CREDIT_BYTES_MAX + 1), invalid);
    let credit =
        |credit_jobs, credit_bytes| refused(&Request::Credit { subscription: 1, credit_jobs, credit_bytes });
    assert_eq!(credit(CREDIT_JOBS_MAX, CREDIT_BYTES_MAX), fine);
    assert_eq!(credit(CREDIT_JOBS_MAX + 1, 0), invalid);
    assert_eq!(credit(0, CREDIT_BYTES_MAX + 1), invalid);
    let leases = |jobs_max| refused(&Request::Leases { after: JobId(0), jobs_max });
    assert_eq!([1, RESERVE_JOBS_MAX].map(leases), [fine; 2]);
    assert_eq!([0, RESERVE_JOBS_MAX + 1].map(leases), [invalid; 2]);
    let connections = |connections_max| refused(&Request::Connections { after: 0, connections_max });
    assert_eq!([1, CONNECTIONS_LISTED_MAX].map(connections), [fine; 2]);
    assert_eq!([0, CONNECTIONS_LISTED_MAX + 1].map(connections), [invalid; 2]);
}

#[test]
fn a_weight_for_each_topic_or_for_none() {
    let topic: TopicName = "orders".parse().expect("a topic");
    let weighed = |topics: usize, weights: &[u16]| {
        let (topics, weights) = (vec![topic.clone(); topics], weights.to_vec());
        let subscribe =
            Subscribe { topics: topics.clone(), credit_jobs: 1, credit_bytes: 1, weights: weights.clone() };
        let reserve = Reserve { topics, jobs_max: 1, wait_ms: 0, weights };
        [refused(&Request::Reserve(reserve)), refused(&Request::Subscribe(subscribe))]
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
    let lease = Lease { job: JobId(42), fence: Fence(7) };
    let finish = |count: usize| refused(&Request::Finish { leases: vec![lease; count] });
    let (fine, invalid, too_large) = (None, Some(ErrorCode::Invalid), Some(ErrorCode::TooLarge));
    assert_eq!(finish(LEASES_MAX), fine);
    assert_eq!(finish(LEASES_MAX + 1), too_large);
    assert_eq!(finish(0), Some(ErrorCode::Malformed));
    let release = |delay_ms| {
        refused(&Request::Release { leases: vec![lease], kind: ReleaseKind::After(delay_ms), reason: None })
    };
    assert_eq!(release(DELAY_MS_MAX), fine);
    assert_eq!(release(DELAY_MS_MAX + 1), invalid);
    let touch = |ttr_ms| refused(&Request::Touch { leases: vec![lease], ttr_ms: Some(ttr_ms) });
    assert_eq!(touch(TTR_MS_MAX), fine);
    assert_eq!(touch(TTR_MS_MAX + 1), invalid);
    assert_eq!(touch(TTR_MS_MIN - 1), invalid);
}

/// A PUSH of one job, so that single fields can be made wrong.
fn push_payload(topic: &[u8], fixed: &[u8], rest: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u64_le(0);
    out.put_u8(u8::try_from(topic.len()).expect("short"));
    out.put_slice(topic);
    out.put_u16_le(u16::try_from(fixed.len()).expect("short"));
    out.put_u32_le(1);
    out.put_slice(fixed);
    out.put_slice(rest);
    out.freeze()
}

fn job_fixed(due_kind: u8, if_exists: u8, key_bytes: u16, attributes_bytes: u16, body_bytes: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_u64_le(1);
    out.put_u32_le(1024);
    out.put_u32_le(0);
    out.put_u8(due_kind);
    out.put_u8(if_exists);
    out.put_u16_le(key_bytes);
    out.put_u16_le(attributes_bytes);
    out.put_u32_le(body_bytes);
    out
}

#[test]
fn each_bad_field_has_its_code() {
    let code = |topic: &[u8], fixed: &[u8], rest: &[u8]| {
        let frame = frame_of(0x10, push_payload(topic, fixed, rest));
        decode_request(&frame).err().map(|error| error.code())
    };
    assert_eq!(code(b"a", &job_fixed(0, 0, 1, 0, 1), b"kb"), None);
    assert_eq!(code(b"", &job_fixed(0, 0, 0, 0, 0), b""), Some(ErrorCode::Invalid));
    assert_eq!(code(b"a b", &job_fixed(0, 0, 0, 0, 0), b""), Some(ErrorCode::Invalid));
    assert_eq!(code(&[b'a'; 129], &job_fixed(0, 0, 0, 0, 0), b""), Some(ErrorCode::TooLarge));
    assert_eq!(code(b"a", &job_fixed(9, 0, 0, 0, 0), b""), Some(ErrorCode::Unsupported));
    assert_eq!(code(b"a", &job_fixed(0, 9, 0, 0, 0), b""), Some(ErrorCode::Unsupported));
    assert_eq!(code(b"a", &job_fixed(0, 0, 1, 0, 0), b"\n"), Some(ErrorCode::Invalid));
    assert_eq!(code(b"a", &job_fixed(0, 0, 257, 0, 0), &[b'k'; 257]), Some(ErrorCode::TooLarge));
    assert_eq!(code(b"a", &job_fixed(0, 0, 0, 3, 0), &[1, 0, 9]), Some(ErrorCode::Malformed));
    assert_eq!(code(b"a", &job_fixed(0, 0, 0, 4, 0), &[0, 0x83, 0, 0]), Some(ErrorCode::Unsupported));
    let longest = [&[9, 0, 8, 0], &(DELAY_MS_MAX + 1).to_le_bytes()[..]].concat();
    assert_eq!(code(b"a", &job_fixed(0, 4, 0, 12, 0), &longest), Some(ErrorCode::Invalid));
    assert_eq!(code(b"a", &job_fixed(0, 5, 0, 0, 0), b""), Some(ErrorCode::Unsupported));
    let attributes = vec![0; ATTRIBUTES_BYTES_MAX + 1];
    let attributes_bytes = u16::try_from(attributes.len()).expect("short");
    let fixed = job_fixed(0, 0, 0, attributes_bytes, 0);
    assert_eq!(code(b"a", &fixed, &attributes), Some(ErrorCode::TooLarge));
    assert_eq!(code(b"a", &job_fixed(0, 0, 0, 0, u32::MAX), b""), Some(ErrorCode::Malformed));
    assert_eq!(code(b"a", &job_fixed(0, 0, 0, 0, 2), b"b"), Some(ErrorCode::Malformed));
    let newer = [job_fixed(0, 0, 1, 0, 1), vec![0xAA; 5]].concat();
    assert_eq!(code(b"a", &newer, b"kb"), None, "a longer fixed part");
}

#[test]
fn a_frame_that_is_none_of_ours_is_answered() {
    let ping = frame_of(0x02, Bytes::new());
    let header = |header: FrameHeader| decode_request(&Frame { header, payload: Bytes::new() });
    assert_eq!(header(ping.header), Ok(Request::Ping));
    let unknown = header(FrameHeader { opcode: 0x7F, ..ping.header });
    assert_eq!(unknown, Err(DecodeError::Opcode(0x7F)));
    assert_eq!(unknown.map_err(|error| ErrorReply::from(error).code), Err(ErrorCode::Unsupported));
    assert_eq!(header(FrameHeader { group: GroupId(1), ..ping.header }), Err(DecodeError::Group(1)));
    assert_eq!(header(FrameHeader { id: RequestId(0), ..ping.header }), Err(DecodeError::RequestIdZero));
    let stray = frame_of(0x01, Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert_eq!(decode_request(&stray), Err(DecodeError::Magic));
}

#[test]
fn bodies_are_slices_of_what_was_read() {
    let mut out = BytesMut::new();
    push_of(vec![NewJob::new("close it")]).encode(ID, &mut out);
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
    let push = Push {
        topic: "t".repeat(128).parse().expect("a topic"),
        sequence: 1,
        jobs: vec![job],
        idempotency: None,
    };
    let mut out = BytesMut::new();
    let written = Request::Push(push).encode(ID, &mut out);
    let max = frame::frame_bytes_max(BODY_BYTES_CEILING);
    assert!(written <= max as usize, "{written}");
    assert!(FrameDecoder::new(max).next(&mut out).is_ok_and(|frame| frame.is_some()));
}

#[test]
fn the_last_sequence_number_of_a_push_is_a_number() {
    let code = |sequence, count| {
        let jobs = vec![NewJob::new("x"); count];
        refused(&Request::Push(Push {
            topic: "orders".parse().expect("a topic"),
            sequence,
            jobs,
            idempotency: None,
        }))
    };
    assert_eq!([code(u64::MAX, 1), code(u64::MAX - 1, 2), code(0, 3)], [None; 3]);
    assert_eq!([code(u64::MAX, 2), code(u64::MAX - 1, 3)], [Some(ErrorCode::Invalid); 2]);
}

#[test]
fn a_push_says_how_long_its_list_is_if_it_is_a_part_of_it() {
    let push = |list_jobs| {
        let idempotency = NonZeroU128::new(9).map(|key| Idempotency { key, list_jobs });
        let (topic, jobs) = ("orders".parse().expect("a topic"), vec![NewJob::new("x"); 3]);
        Request::Push(Push { topic, sequence: 0, jobs, idempotency })
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
    let newer = |response: &Response, at: usize, number: u8| {
        let mut out = BytesMut::new();
        response.encode(ID, &mut out);
        let mut payload = out.split_off(FRAME_HEADER_BYTES);
        *payload.get_mut(at).expect("within the payload") = number;
        Response::decode(&frame_of(response.opcode() as u8, payload.freeze()))
            .expect("a frame of a newer server")
    };
    let (job, due) = (JobId(7), Millis(1));
    let changed = |state| Response::Changed { job, state, due, version: 0 };
    assert_eq!(newer(&changed(Some(JobState::Ready)), 16, 9), changed(None));

    let report = |state, buried| {
        Response::Job(Box::new(JobReport {
            id: job,
            state,
            topic: "t".parse().expect("a name"),
            key: None,
            priority: 1,
            attempts: 2,
            due,
            ttr_ms: 3,
            ttr_left_ms: 0,
            buried,
            attributes: Attributes::default(),
            body_bytes: 2,
            body: "hi".into(),
            history: JobHistory::default(),
            version: 0,
        }))
    };
    let buried = report(Some(JobState::Buried), Some(BuryReason::Consumer));
    assert_eq!(newer(&buried, 16, 9), report(None, Some(BuryReason::Consumer)));
    assert_eq!(newer(&buried, 17, 9), report(Some(JobState::Buried), None));

    let pushed = |second| Response::Pushed(vec![PushResult::Pushed(JobId(1)), second]);
    let unknown = PushResult::Refused(ErrorCode::OutcomeUnknown, Some(job));
    assert_eq!(newer(&pushed(PushResult::Kept(job)), 6 + 11, 9), pushed(unknown));
}
