//! The cause of a TLS failure, as far as a user can do something about it.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use adjourn_transport::tls::TlsError;

/// Why a client and a server did not agree on TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// The server does not speak TLS.
    NoTls,
    /// The server supports no TLS version of this client.
    Version,
    /// The server's certificate is of a CA that the client does not trust.
    OtherCa,
    /// The server's certificate is not for the host that was dialled.
    OtherHost,
    /// The server's certificate has expired, or is not valid yet.
    Expired,
    /// The server's certificate has another fault.
    Unusable,
    /// The server requires a certificate, and the client showed none.
    NoneShown,
    /// The certificate that the client showed has expired.
    OwnExpired,
    /// The certificate that the client showed is revoked.
    OwnRevoked,
    /// The server does not trust the certificate that the client showed: it is of another CA, or not for clients.
    OwnRefused,
    /// Something else.
    Other,
}

impl TlsFault {
    /// The cause of an error; `None` if it is not about TLS.
    pub fn of(error: &io::Error) -> Option<Self> {
        let inner = error.get_ref()?;
        if inner.is::<TlsError>() {
            return Some(Self::OtherHost);
        }
        Some(match inner.downcast_ref::<Error>()? {
            Error::InvalidCertificate(error) => Self::of_server(error),
            Error::AlertReceived(alert) => Self::told(*alert),
            Error::InvalidMessage(_) => Self::NoTls,
            Error::PeerIncompatible(_) => Self::Version,
            _ => Self::Other,
        })
    }

    fn of_server(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::OtherCa,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::OtherHost
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Self::Expired,
            _ => Self::Unusable,
        }
    }

    /// The cause of an alert of the server. In the handshake it can only be the client's certificate.
    fn told(alert: AlertDescription) -> Self {
        match alert {
            AlertDescription::CertificateRequired | AlertDescription::NoCertificate => Self::NoneShown,
            AlertDescription::CertificateExpired => Self::OwnExpired,
            AlertDescription::CertificateRevoked => Self::OwnRevoked,
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError => Self::OwnRefused,
            AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => Self::Version,
            _ => Self::Other,
        }
    }

    /// The remedy, for a program that has the client's configuration.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::NoTls => {
                "The server does not use TLS: write adjourn:// before its address, or give it a certificate"
            }
            Self::Version => "The server must support TLS 1.3",
            Self::OtherCa => "The certificate is from another CA: name the CA that signed it with tls.ca",
            Self::OtherHost => "Use a host name that is in the server's certificate",
            Self::Expired => {
                "The server's certificate has expired or is not valid yet: renew it there, and compare the clocks"
            }
            Self::Unusable => "The server needs another certificate",
            Self::NoneShown => {
                "The server requires a certificate: name one and its key with tls.certificate and tls.key"
            }
            Self::OwnExpired => "The client's own certificate, tls.certificate, has expired: renew it",
            Self::OwnRevoked => "The client's own certificate, tls.certificate, is revoked: use another one",
            Self::OwnRefused => {
                "The server does not trust the client's own certificate, tls.certificate: it must be from the CA that the server \
                 requires, and for clients"
            }
            Self::Other => "Do both sides support TLS 1.3?",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: Error) -> Option<TlsFault> {
        TlsFault::of(&io::Error::new(io::ErrorKind::InvalidData, error))
    }

    #[test]
    fn a_fault_is_told_from_others() {
        let alert = |alert| of(Error::AlertReceived(alert));
        let certificate = |error| of(Error::InvalidCertificate(error));
        for (found, wanted) in [
            (alert(AlertDescription::CertificateRequired), TlsFault::NoneShown),
            (alert(AlertDescription::CertificateExpired), TlsFault::OwnExpired),
            (alert(AlertDescription::CertificateRevoked), TlsFault::OwnRevoked),
            (alert(AlertDescription::UnknownCA), TlsFault::OwnRefused),
            (alert(AlertDescription::DecryptError), TlsFault::OwnRefused),
            (alert(AlertDescription::ProtocolVersion), TlsFault::Version),
            (alert(AlertDescription::InternalError), TlsFault::Other),
            (certificate(CertificateError::Expired), TlsFault::Expired),
            (certificate(CertificateError::UnknownIssuer), TlsFault::OtherCa),
            (certificate(CertificateError::BadSignature), TlsFault::OtherCa),
            (certificate(CertificateError::NotValidForName), TlsFault::OtherHost),
            (certificate(CertificateError::InvalidPurpose), TlsFault::Unusable),
            (of(Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)), TlsFault::NoTls),
        ] {
            assert_eq!(found, Some(wanted));
            assert!(!wanted.advice().is_empty());
        }
        assert_eq!(TlsFault::of(&io::ErrorKind::ConnectionReset.into()), None);
    }
}
