//! The vectors in `conformance/vectors/`: frames and their bytes.
//!
//! A person writes name, side and frame (or the frame that is changed, and how); `ADJOURN_WRITE_VECTORS=1` has the codec add
//! the bytes. Otherwise the files must be what the codec would write.

use std::collections::BTreeSet;
use std::path::PathBuf;

use adjourn_generate::Side;
use serde_json::{Value, json};

use super::codec;
use super::matching::differs;
use super::schema::frames;
use super::wire::{self, Newer, base64_of, bytes_of};

/// One file of vectors.
pub(crate) fn read(name: &str) -> Vec<Value> {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Which side's frame it is.
pub(crate) fn side_of(vector: &Value) -> Side {
    let side = vector["side"].as_str().and_then(Side::from_name);
    side.unwrap_or_else(|| panic!("{vector}: a side"))
}

/// Compares every file with what the codec makes of it, or writes it.
pub(crate) fn check() -> Result<(), String> {
    codec::is_as_the_schema_says()?;
    let (requests, responses) = (read("requests"), read("responses"));
    let shown: BTreeSet<(&str, &str)> = requests
        .iter()
        .chain(&responses)
        .filter_map(|vector| Some((vector["side"].as_str()?, vector["frame"]["opcode"].as_str()?)))
        .collect();
    for frame in frames() {
        if !shown.contains(&(frame.side.name(), frame.name.as_str())) {
            return Err(format!("no vector of {}", frame.name));
        }
    }
    settle("requests", requests.iter().map(plain))?;
    settle("responses", responses.iter().map(plain))?;
    let base: Vec<Value> = read("requests").into_iter().chain(read("responses")).collect();
    settle("refused", read("refused").iter().map(|vector| refused(vector, &base)))?;
    settle("newer", read("newer").iter().map(|vector| newer(vector, &base)))
}

fn plain(vector: &Value) -> Result<Value, String> {
    let side = side_of(vector);
    let bytes = codec::encode(side, &vector["frame"]).map_err(|(_, why)| why)?;
    let frame = codec::decode(side, &bytes).map_err(|(_, why)| why)?;
    differs(&vector["frame"], &frame).map_or(Ok(()), Err)?;
    Ok(json!({ "name": vector["name"], "side": vector["side"], "bytes": base64_of(&bytes), "frame": frame }))
}

fn refused(vector: &Value, base: &[Value]) -> Result<Value, String> {
    let change = &vector["change"];
    let bytes =
        changed(bytes_of(&base_of(vector, base)?["bytes"]).map_err(|fault| fault.to_string())?, change);
    let Err((code, _)) = codec::decode(side_of(vector), &bytes) else {
        return Err("is not refused".to_owned());
    };
    let mut written = vector.clone();
    written["bytes"] = json!(base64_of(&bytes));
    written["code"] = json!(code.name());
    Ok(written)
}

fn newer(vector: &Value, base: &[Value]) -> Result<Value, String> {
    let (side, base) = (side_of(vector), base_of(vector, base)?);
    let added = |name: &str| {
        let number = vector["newer"][name].as_u64().unwrap_or_default();
        usize::try_from(number).unwrap_or_default()
    };
    let flags = u8::try_from(added("flags")).unwrap_or_default();
    let newer = Newer { fixed: added("fixed"), trailing: added("trailing"), flags };
    let bytes = wire::write(side, &base["frame"], newer).map_err(|fault| fault.to_string())?;
    let bytes = changed(bytes, vector);
    let found = codec::decode(side, &bytes).map_err(|(_, why)| why)?;
    let mut expected =
        if vector["frame"].is_null() { base["frame"].clone() } else { vector["frame"].clone() };
    expected["request_id"] = found["request_id"].clone();
    differs(&expected, &found).map_or(Ok(()), Err)?;
    let mut written = vector.clone();
    written["bytes"] = json!(base64_of(&bytes));
    written["frame"] = expected;
    Ok(written)
}

fn base_of<'a>(vector: &Value, base: &'a [Value]) -> Result<&'a Value, String> {
    let found = base.iter().find(|one| one["name"] == vector["from"] && one["side"] == vector["side"]);
    found.ok_or_else(|| format!("there is no vector {}", vector["from"]))
}

/// The bytes with `keep` of them left, and with others `put` at some places.
fn changed(mut bytes: Vec<u8>, change: &Value) -> Vec<u8> {
    if let Some(keep) = change["keep"].as_u64() {
        bytes.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        let length = u32::try_from(bytes.len() - 4).unwrap_or_default();
        bytes.splice(..4, length.to_le_bytes());
    }
    for put in change["put"].as_array().into_iter().flatten() {
        let at = usize::try_from(put[0].as_u64().expect("a place")).expect("a place");
        let hex = put[1].as_str().expect("hex");
        for (offset, digits) in hex.as_bytes().chunks(2).enumerate() {
            let digits = std::str::from_utf8(digits).expect("hex");
            bytes[at + offset] = u8::from_str_radix(digits, 16).expect("hex");
        }
    }
    bytes
}

fn settle(name: &str, vectors: impl Iterator<Item = Result<Value, String>>) -> Result<(), String> {
    let before = read(name);
    let mut lines = Vec::new();
    for (vector, old) in vectors.zip(&before) {
        let vector = vector.map_err(|why| format!("{name}.json, {}: {why}", old["name"]))?;
        lines.push(vector.to_string());
    }
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    let path = path(name);
    if std::env::var_os("ADJOURN_WRITE_VECTORS").is_some() {
        return std::fs::write(&path, text).map_err(|error| error.to_string());
    }
    let found = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let changed = found.lines().zip(text.lines()).find(|(old, new)| old != new);
    match changed {
        None if found == text => Ok(()),
        changed => Err(format!(
            "{name}.json is not what the codec writes, here first: {changed:?}\nADJOURN_WRITE_VECTORS=1 writes it anew"
        )),
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("conformance/vectors/{name}.json"))
}
