//! Reads certificates and lists of revoked ones in DER: only the fields that signing needs. It verifies nothing.

use std::iter;

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode as _, Tag, Tagged as _};
use jiff::civil::Date;

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
pub(super) struct Certificate<'a> {
    /// Its number, unique for its CA.
    pub(super) serial: &'a [u8],
    /// The name of its CA.
    pub(super) issuer: &'a [u8],
    /// The last day on which it is valid.
    pub(super) until: Date,
    /// The name of its owner.
    pub(super) subject: &'a [u8],
    /// The owner's public key.
    pub(super) public_key: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Decodes a certificate; `None` if it is not valid.
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let signed = signed(der)?;
        let serial = of_tag(signed, Tag::Integer).next()?;
        let mut fields = of_tag(signed, Tag::Sequence).skip(1);
        let (issuer, validity) = (fields.next()?, fields.next()?);
        let until = day(elements(validity).nth(1)?)?;
        Some(Self { serial, issuer, until, subject: fields.next()?, public_key: fields.next()? })
    }
}

/// The common name, if the name has only that.
pub(super) fn common_name(name: &[u8]) -> Option<&str> {
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
pub(super) struct Revoked<'a> {
    /// The name of the CA.
    pub(super) issuer: &'a [u8],
    /// The number of each certificate, and when it was revoked.
    pub(super) serials: Vec<(&'a [u8], Date)>,
}

impl<'a> Revoked<'a> {
    /// Decodes a list; `None` if it is not valid.
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = of_tag(signed(der)?, Tag::Sequence).skip(1);
        let issuer = fields.next()?;
        let entries = of_tag(fields.next().unwrap_or_default(), Tag::Sequence);
        let serials = entries.map(|entry| {
            let mut fields = elements(entry);
            let (serial, time) = (fields.next()?, fields.next()?);
            (serial.tag() == Tag::Integer).then_some((serial.value(), day(time)?))
        });
        Some(Self { issuer, serials: serials.collect::<Option<_>>()? })
    }
}

/// The day of a time, which has four digits of the year or two.
fn day(time: AnyRef<'_>) -> Option<Date> {
    let time = match time.tag() {
        Tag::UtcTime => time.decode_as::<UtcTime>().ok()?.to_date_time(),
        _ => time.decode_as::<GeneralizedTime>().ok()?.to_date_time(),
    };
    let (month, day) = (i8::try_from(time.month()).ok()?, i8::try_from(time.day()).ok()?);
    Date::new(i16::try_from(time.year()).ok()?, month, day).ok()
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
        let day = |tag, text: &'static [u8]| day(AnyRef::new(tag, text).expect("short"));
        let date = |year, month, day| Some(Date::constant(year, month, day));
        assert_eq!(day(Tag::UtcTime, b"261121120000Z"), date(2026, 11, 21));
        assert_eq!(day(Tag::UtcTime, b"700101000000Z"), date(1970, 1, 1));
        assert_eq!(day(Tag::GeneralizedTime, b"20501231000000Z"), date(2050, 12, 31));
        assert_eq!(
            [&b"26112x120000Z"[..], b"2611", b"269921120000Z"].map(|text| day(Tag::UtcTime, text)),
            [None; 3]
        );
        assert_eq!(day(Tag::Integer, b"20501231000000Z"), None);
    }
}
