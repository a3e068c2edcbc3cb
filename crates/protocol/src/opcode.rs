//! The number of each response, and what requests need for theirs. Requests are below 0x80, responses at or above it.
//!
//! The high digit is the group of messages, the low digit counts within it. A number is never reused for another
//! message.

/// Makes an enum of opcodes from their numbers and names.
macro_rules! opcodes {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal, $text:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)+
        }

        impl $name {
            /// Every opcode of this version, for tables and tests.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The opcode with this number, if it is one of this version's.
            pub fn from_u8(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name that `protocol.md` gives it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

pub(super) use opcodes;

#[cfg(test)]
mod tests {
    use super::super::codes::ResponseOpcode;
    use super::super::request::RequestOpcode;

    #[test]
    fn numbers_and_opcodes_are_one_to_one() {
        for number in 0..=u8::MAX {
            let request = RequestOpcode::from_u8(number);
            let response = ResponseOpcode::from_u8(number);
            assert!(request.is_none_or(|opcode| opcode as u8 == number && number < 0x80), "{number:#04x}");
            assert!(response.is_none_or(|opcode| opcode as u8 == number && number >= 0x80), "{number:#04x}");
        }
        let known = (0..=u8::MAX).filter_map(RequestOpcode::from_u8).count();
        assert_eq!(known, RequestOpcode::ALL.len());
        let known = (0..=u8::MAX).filter_map(ResponseOpcode::from_u8).count();
        assert_eq!(known, ResponseOpcode::ALL.len());
    }
}
