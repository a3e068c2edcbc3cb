//! The level codec: every vector, and every way to cut a response short.

use adjourn_generate::Side;
use serde_json::{Value, json};

use super::clients::Client;
use super::codec;
use super::harness::Harness;
use super::matching::differs;
use super::vectors::{read, side_of};
use super::wire::{base64_of, bytes_of};

/// A name, and what is checked.
pub(crate) type Check = (&'static str, fn(&Client) -> Result<(), String>);

/// What is checked.
pub(crate) const CHECKS: [Check; 5] = [
    ("codec/requests", |client| plain(client, "requests")),
    ("codec/responses", |client| plain(client, "responses")),
    ("codec/refused", refused),
    ("codec/newer", newer),
    ("codec/cut-responses", cut_responses),
];

/// Commands that are sent before the first answer is read.
const UNDER_WAY_MAX: usize = 64;

/// Encodes and decodes every vector of a file.
fn plain(client: &Client, file: &str) -> Result<(), String> {
    let mut harness = client.start()?;
    let vectors = read(file);
    let encoded = chosen(client, "encode", &vectors);
    let commands = encoded
        .iter()
        .map(|vector| json!({ "do": "encode", "side": vector["side"], "frame": vector["frame"] }));
    for (vector, answer) in encoded.iter().zip(ask_all(&mut harness, commands)?) {
        same_message(vector, &answer).map_err(|why| format!("encode {}: {why}", vector["name"]))?;
    }
    let decoded = chosen(client, "decode", &vectors);
    for (vector, answer) in decoded.iter().zip(decode_all(&mut harness, &decoded)?) {
        same_frame(vector, &answer).map_err(|why| format!("decode {}: {why}", vector["name"]))?;
    }
    harness.finish()
}

fn refused(client: &Client) -> Result<(), String> {
    let mut harness = client.start()?;
    let vectors = chosen(client, "decode", &read("refused"));
    for (vector, answer) in vectors.iter().zip(decode_all(&mut harness, &vectors)?) {
        if answer["error"]["code"].as_str().is_none() {
            return Err(format!("{} is not refused: {answer}", vector["name"]));
        }
    }
    harness.finish()
}

fn newer(client: &Client) -> Result<(), String> {
    let mut harness = client.start()?;
    let vectors = chosen(client, "decode", &read("newer"));
    for (vector, answer) in vectors.iter().zip(decode_all(&mut harness, &vectors)?) {
        same_frame(vector, &answer).map_err(|why| format!("decode {}: {why}", vector["name"]))?;
    }
    harness.finish()
}

/// Each response, cut short at each place: refused where the server's codec refuses it, and else the same message.
fn cut_responses(client: &Client) -> Result<(), String> {
    let mut harness = client.start()?;
    let mut cuts = Vec::new();
    for vector in read("responses") {
        let whole = bytes_of(&vector["bytes"]).map_err(|fault| fault.to_string())?;
        for length in 12..whole.len() {
            let mut cut = whole.get(..length).unwrap_or_default().to_vec();
            let payload = u32::try_from(length - 4).unwrap_or_default();
            cut.splice(..4, payload.to_le_bytes());
            let expected = codec::decode(Side::Response, &cut).ok();
            let name = format!("{} cut to {length} bytes", vector["name"]);
            cuts.push(
                json!({ "name": name, "side": "response", "bytes": base64_of(&cut), "frame": expected }),
            );
        }
    }
    for (cut, answer) in cuts.iter().zip(decode_all(&mut harness, &cuts)?) {
        let is_right = if cut["frame"].is_null() {
            answer["error"]["code"].as_str().map(|_| ()).ok_or_else(|| format!("is not refused: {answer}"))
        } else {
            same_frame(cut, &answer)
        };
        is_right.map_err(|why| format!("{}: {why}", cut["name"]))?;
    }
    harness.finish()
}

/// The vectors of those sides that the harness can do; what a client does is required.
fn chosen(client: &Client, verb: &str, vectors: &[Value]) -> Vec<Value> {
    let can = |side: Side| {
        let name = format!("{verb}_{}", side.name());
        let is_required = matches!(name.as_str(), "encode_request" | "decode_response");
        is_required
            || client.about["codec"].as_array().is_some_and(|list| list.iter().any(|one| *one == name))
    };
    vectors.iter().filter(|vector| can(side_of(vector))).cloned().collect()
}

fn decode_all(harness: &mut Harness, vectors: &[Value]) -> Result<Vec<Value>, String> {
    let command =
        |vector: &Value| json!({ "do": "decode", "side": vector["side"], "bytes": vector["bytes"] });
    ask_all(harness, vectors.iter().map(command))
}

fn ask_all(harness: &mut Harness, commands: impl Iterator<Item = Value>) -> Result<Vec<Value>, String> {
    let (mut ids, mut answers) = (Vec::new(), Vec::new());
    for command in commands {
        ids.push(harness.send(&command)?);
        if ids.len() >= UNDER_WAY_MAX {
            for id in ids.drain(..) {
                answers.push(harness.answer(id)?);
            }
        }
    }
    for id in ids {
        answers.push(harness.answer(id)?);
    }
    Ok(answers)
}

/// The bytes in an answer are the vector's message.
fn same_message(vector: &Value, answer: &Value) -> Result<(), String> {
    if !answer["error"].is_null() {
        return Err(answer["error"].to_string());
    }
    let bytes = bytes_of(&answer["ok"]["bytes"]).map_err(|fault| fault.to_string())?;
    let found = codec::decode(side_of(vector), &bytes);
    let found = found.map_err(|(code, why)| format!("the server refuses the bytes: {code}, {why}"))?;
    differs(&vector["frame"], &found).map_or(Ok(()), Err)
}

/// The frame in an answer is the vector's.
fn same_frame(vector: &Value, answer: &Value) -> Result<(), String> {
    if !answer["error"].is_null() {
        return Err(answer["error"].to_string());
    }
    let mut expected = vector["frame"].clone();
    // An unknown code has no one right number.
    if let Some(fields) = expected.get_mut("fields").and_then(Value::as_object_mut) {
        let is_unknown = fields.get("code").and_then(Value::as_u64).is_some_and(|code| code > 42);
        fields.retain(|name, _| !(name == "code" && is_unknown));
    }
    differs(&expected, &answer["ok"]["frame"]).map_or(Ok(()), Err)
}
