//! Reads certificates and lists of revoked ones in DER: only some of the fields. It verifies nothing.

use std::iter;

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode as _, Tag, Tagged as _};
use rustls::pki_types::UnixTime;

/// Consecutive elements of DER. Ends at invalid bytes.
fn elements(mut content: &[u8]) -> impl Iterator<Item = AnyRef<'_>> {
    iter::from_fn(move || {
        let (element, rest) = AnyRef::from_der_partial(content).ok()?;
        content = rest;
        Some(element)
    })
}

/// The contents of the elements of a sequence that have this tag.
fn of_tag(content: &[u8], tag: Tag) -> impl Iterator<Item = &[u8]> {
    elements(content).filter(move |element| element.tag() == tag).map(AnyRef::value)
}

/// The signed part of a certificate or a list.
fn signed(der: &[u8]) -> Option<&[u8]> {
    of_tag(of_tag(der, Tag::Sequence).next()?, Tag::Sequence).next()
}

/// A certificate.
#[derive(Clone, Copy, Debug)]
pub struct Certificate<'a> {
    /// Its number, unique for its CA.
    pub serial: &'a [u8],
    /// The name of its CA.
    pub issuer: &'a [u8],
    /// The last second in which it is valid.
    pub until: UnixTime,
    /// The name of its owner.
    pub subject: &'a [u8],
    /// The owner's public key.
    pub public_key: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Decodes a certificate; `None` if it is not valid.
    pub fn read(der: &'a [u8]) -> Option<Self> {
        let signed = signed(der)?;
        let serial = of_tag(signed, Tag::Integer).next()?;
        let mut fields = of_tag(signed, Tag::Sequence).skip(1);
        let (issuer, validity) = (fields.next()?, fields.next()?);
        let until = moment(elements(validity).nth(1)?)?;
        Some(Self { serial, issuer, until, subject: fields.next()?, public_key: fields.next()? })
    }
}

/// The common name, if the name has only that.
pub fn common_name(name: &[u8]) -> Option<&str> {
    /// The object identifier of a common name: 2.5.4.3.
    const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    let mut parts = elements(name);
    let (part, None) = (parts.next()?, parts.next()) else { return None };
    let mut fields = elements(part.value());
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    let mut field = elements(field.value());
    let (number, text, None) = (field.next()?, field.next()?, field.next()) else { return None };
    let is_plain = number.value() == COMMON_NAME && text.tag() == Tag::Utf8String;
    is_plain.then(|| std::str::from_utf8(text.value()).ok())?
}

/// A list of revoked certificates.
#[derive(Debug)]
pub struct Revoked<'a> {
    /// The name of the CA.
    pub issuer: &'a [u8],
    /// The number of each certificate, and when it was revoked.
    pub serials: Vec<(&'a [u8], UnixTime)>,
}

impl<'a> Revoked<'a> {
    /// Decodes a list; `None` if it is not valid.
    pub fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = of_tag(signed(der)?, Tag::Sequence).skip(1);
        let issuer = fields.next()?;
        let entries = of_tag(fields.next().unwrap_or_default(), Tag::Sequence);
        let serials = entries.map(|entry| {
            let mut fields = elements(entry);
            let (serial, time) = (fields.next()?, fields.next()?);
            (serial.tag() == Tag::Integer).then_some((serial.value(), moment(time)?))
        });
        Some(Self { issuer, serials: serials.collect::<Option<_>>()? })
    }
}

/// A time, whose year has two or four digits.
fn moment(time: AnyRef<'_>) -> Option<UnixTime> {
    let since_epoch = match time.tag() {
        Tag::UtcTime => time.decode_as::<UtcTime>().ok()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>().ok()?.to_unix_duration(),
    };
    Some(UnixTime::since_unix_epoch(since_epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_der_is_nothing() {
        let certificate = [0x30, 4, 0x30, 2, 0x02, 9];
        assert!(Certificate::read(&certificate).is_none() && Revoked::read(&certificate).is_none());
        let huge = [0x30, 0x88, 255, 255, 255, 255, 255, 255, 255, 255];
        for bytes in [&[][..], &[0x30], &[0x30, 0x84, 1], &huge] {
            assert_eq!(elements(bytes).next(), None, "{bytes:?}");
            assert!(Certificate::read(bytes).is_none());
        }
    }

    #[test]
    fn a_name_is_a_common_name_alone() {
        let part = [&[0x31, 11, 0x30, 9, 0x06, 3, 0x55, 4, 3, 0x0c, 2][..], b"CA"].concat();
        assert_eq!(common_name(&part), Some("CA"));
        assert_eq!(common_name(&[part.clone(), part.clone()].concat()), None, "two names");
        let other =
            |from, to| part.iter().map(|byte| if *byte == from { to } else { *byte }).collect::<Vec<_>>();
        assert_eq!([common_name(&other(4, 5)), common_name(&other(0x0c, 0x13)), common_name(&[])], [None; 3]);
    }

    #[test]
    fn times_have_two_or_four_digits_of_the_year() {
        let seconds = |tag, text: &'static [u8]| {
            moment(AnyRef::new(tag, text).expect("short")).map(|time| time.as_secs())
        };
        assert_eq!(seconds(Tag::UtcTime, b"261121120000Z"), Some(1_795_262_400));
        assert_eq!(seconds(Tag::UtcTime, b"700101000000Z"), Some(0));
        assert_eq!(seconds(Tag::GeneralizedTime, b"20501231000000Z"), Some(2_556_057_600));
        assert_eq!(
            [&b"26112x120000Z"[..], b"2611", b"269921120000Z"].map(|text| seconds(Tag::UtcTime, text)),
            [None; 3]
        );
        assert_eq!(seconds(Tag::Integer, b"20501231000000Z"), None);
    }
}
