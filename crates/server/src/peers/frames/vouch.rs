//! The encoding of callers' access, as one member states it to another.

use bytes::{BufMut as _, BytesMut};

use super::{Fields, put_text};
use adjourn_types::{Access, Grant};

/// Longest name of a token, or text of a grant, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

pub(super) fn put(out: &mut BytesMut, access: &Access) {
    let Access { token, grants, body_bytes_max, sessions_max, topics_max } = access;
    put_text(out, token, TEXT_BYTES_MAX);
    for limit in [*body_bytes_max, *sessions_max, *topics_max] {
        out.put_u64_le(u64::try_from(limit).unwrap_or(u64::MAX));
    }
    let count = u16::try_from(grants.len()).unwrap_or(u16::MAX);
    out.put_u16_le(count);
    grants.iter().take(count.into()).for_each(|grant| put_text(out, &grant.to_string(), TEXT_BYTES_MAX));
}

pub(super) fn read(fields: &mut Fields) -> Option<Access> {
    let token = fields.text(TEXT_BYTES_MAX)?;
    let mut limit = || Some(usize::try_from(fields.u64()?).unwrap_or(usize::MAX));
    let (body_bytes_max, sessions_max, topics_max) = (limit()?, limit()?, limit()?);
    let count = u16::from_le_bytes(fields.array()?);
    let grant = |_| fields.text(TEXT_BYTES_MAX)?.parse::<Grant>().ok();
    let grants = (0..count).map(grant).collect::<Option<_>>()?;
    Some(Access { token, grants, body_bytes_max, sessions_max, topics_max })
}
