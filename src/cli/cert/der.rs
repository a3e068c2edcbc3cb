//! Reads certificates and lists of revoked ones in DER: only the fields that signing needs. It verifies nothing.

use jiff::civil::Date;

/// Consecutive elements of DER, as tag and content. Ends at invalid bytes.
struct Elements<'a>(&'a [u8]);

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const GENERALIZED_TIME: u8 = 0x18;

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let digit = |length: usize, byte: &u8| length.checked_mul(256)?.checked_add(usize::from(*byte));
            (length.iter().try_fold(0, digit)?, rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }
}

/// The contents of the elements of a sequence that have this tag.
fn of_tag(content: &[u8], tag: u8) -> impl Iterator<Item = &[u8]> {
    Elements(content).filter_map(move |(found, content)| (found == tag).then_some(content))
}

/// The signed part of a certificate or a list.
fn signed(der: &[u8]) -> Option<&[u8]> {
    of_tag(of_tag(der, SEQUENCE).next()?, SEQUENCE).next()
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
        let serial = of_tag(signed, INTEGER).next()?;
        let mut fields = of_tag(signed, SEQUENCE).skip(1);
        let (issuer, validity) = (fields.next()?, fields.next()?);
        let (tag, until) = Elements(validity).nth(1)?;
        let until = day(until, tag == GENERALIZED_TIME)?;
        Some(Self { serial, issuer, until, subject: fields.next()?, public_key: fields.next()? })
    }
}

/// The common name, if the name has only that.
pub(super) fn common_name(name: &[u8]) -> Option<&str> {
    /// The encoding before the text of a common name.
    const BEFORE: &[u8] = &[0x06, 3, 0x55, 4, 3, 0x0c];
    let mut parts = Elements(name);
    let ((_, part), None) = (parts.next()?, parts.next()) else { return None };
    let mut fields = Elements(part);
    let ((SEQUENCE, field), None) = (fields.next()?, fields.next()) else { return None };
    let (length, text) = field.strip_prefix(BEFORE)?.split_first()?;
    (text.len() == usize::from(*length)).then(|| std::str::from_utf8(text).ok())?
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
        let mut fields = of_tag(signed(der)?, SEQUENCE).skip(1);
        let issuer = fields.next()?;
        let entries = of_tag(fields.next().unwrap_or_default(), SEQUENCE);
        let serials = entries.map(|entry| {
            let mut fields = Elements(entry);
            let ((INTEGER, serial), (tag, time)) = (fields.next()?, fields.next()?) else { return None };
            Some((serial, day(time, tag == GENERALIZED_TIME)?))
        });
        Some(Self { issuer, serials: serials.collect::<Option<_>>()? })
    }
}

/// The day of a time, whose year has four digits or two.
fn day(time: &[u8], whole_year: bool) -> Option<Date> {
    let (year, rest) = time.split_at_checked(if whole_year { 4 } else { 2 })?;
    if !year.iter().chain(rest.get(..4)?).all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u8>().ok();
    let year: i16 = std::str::from_utf8(year).ok()?.parse().ok()?;
    let year = match year {
        _ if whole_year => year,
        0..50 => 2000 + year,
        _ => 1900 + year,
    };
    let (month, day) = (number(rest.get(..2)?)?, number(rest.get(2..4)?)?);
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_der_is_nothing() {
        let certificate = [0x30, 4, 0x30, 2, 0x02, 9];
        assert!(Certificate::read(&certificate).is_none() && Revoked::read(&certificate).is_none());
        for bytes in
            [&[][..], &[0x30], &[0x30, 0x84, 1], &[0x30, 0x89, 255, 255, 255, 255, 255, 255, 255, 255, 255]]
        {
            assert_eq!(Elements(bytes).next(), None, "{bytes:?}");
            assert!(Certificate::read(bytes).is_none());
        }
        assert_eq!(Elements(&[0x04, 0x81, 1, 7, 5, 0]).collect::<Vec<_>>(), [(4, &[7][..]), (5, &[])]);
    }

    #[test]
    fn a_name_is_a_common_name_alone() {
        let part = [&[0x31, 11, 0x30, 9, 0x06, 3, 0x55, 4, 3, 0x0c, 2][..], b"CA"].concat();
        assert_eq!(common_name(&part), Some("CA"));
        assert_eq!(common_name(&[part.clone(), part.clone()].concat()), None, "two names");
        assert_eq!(
            common_name(&part.iter().map(|byte| if *byte == 3 { 10 } else { *byte }).collect::<Vec<_>>()),
            None
        );
        assert_eq!(common_name(&[]), None);
    }

    #[test]
    fn times_have_two_or_four_digits_of_the_year() {
        let date = |year, month, day| Some(Date::constant(year, month, day));
        assert_eq!(day(b"261121120000Z", false), date(2026, 11, 21));
        assert_eq!(day(b"500101000000Z", false), date(1950, 1, 1));
        assert_eq!(day(b"20501231000000Z", true), date(2050, 12, 31));
        assert_eq!([&b"26112x"[..], b"2611", b"269921", b"-11121"].map(|text| day(text, false)), [None; 4]);
    }
}
