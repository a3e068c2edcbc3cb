//! A body store for tests: it knows exactly what is kept, and fails on what is forgotten twice.

use std::collections::BTreeMap;

use adjourn::engine::{BodyRef, BodyStore, Record};

/// Keeps records under growing places (or falling ones, to show that places do not matter).
#[derive(Debug, Default)]
pub(crate) struct KeptBodies {
    kept: BTreeMap<u32, KeptRecord>,
    count: u32,
    falling: bool,
}

/// A record and the reference to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptRecord {
    pub(crate) reference: BodyRef,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) attributes: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl KeptBodies {
    pub(crate) fn falling() -> Self {
        Self { falling: true, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn read(&self, reference: BodyRef) -> &KeptRecord {
        let record = self.kept.get(&reference.place).expect("a job's record is kept");
        assert_eq!(record.reference, reference);
        record
    }
}

/// The reference that the `place`-th kept record has.
pub(crate) fn reference(place: u32, record: &Record<'_>) -> BodyRef {
    let checksum = crc32c::crc32c(record.key.unwrap_or_default());
    let checksum = crc32c::crc32c_append(checksum, record.attributes);
    let checksum = crc32c::crc32c_append(checksum, record.body);
    let body_bytes = u32::try_from(record.body.len()).expect("a small body");
    BodyRef { place, body_bytes, checksum }
}

impl BodyStore for KeptBodies {
    fn keep(&mut self, record: Record<'_>) -> BodyRef {
        self.count += 1;
        let place = if self.falling { u32::MAX - self.count } else { self.count };
        let reference = reference(place, &record);
        let kept = KeptRecord {
            reference,
            key: record.key.map(<[u8]>::to_vec),
            attributes: record.attributes.to_vec(),
            body: record.body.to_vec(),
        };
        assert_eq!(self.kept.insert(place, kept), None);
        reference
    }

    fn forget(&mut self, body: BodyRef) {
        let forgotten = self.kept.remove(&body.place).expect("a record is forgotten once");
        assert_eq!(forgotten.reference, body);
    }
}
