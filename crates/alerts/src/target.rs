//! Targets: the receivers of messages.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lettre::message::{Mailbox, Message as Mail, header::ContentType};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use serde::Deserialize;

use super::message::Message;
use adjourn_call_backs::{Hook, PostError};
use adjourn_transport::tls::answers_without_tls;

/// A target must accept a message within this time.
const ACCEPT_MAX: Duration = Duration::from_secs(15);

/// A target as it is in the file. It may contain secrets, so it is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTarget {
    pub(super) name: String,
    pub(super) webhook: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    pub(super) smtp: Option<String>,
    pub(super) from: Option<String>,
    #[serde(default)]
    pub(super) to: Vec<String>,
}

/// One target of the file.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) way: Way,
    /// The text it was read from: targets with equal text are the same.
    pub(super) written: WrittenTarget,
}

/// How a target is reached.
pub(super) enum Way {
    Webhook {
        hook: Hook,
        /// The JSON template to post.
        body: Option<String>,
    },
    Mail {
        smtp: AsyncSmtpTransport<Tokio1Executor>,
        from: Mailbox,
        to: Vec<Mailbox>,
    },
}

/// Why a target did not accept a message. The text shows no secret.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The web hook failed.
    #[error("{0}")]
    Webhook(#[from] PostError),
    /// The mail server refused it, or was not reached.
    #[error("{0}")]
    Smtp(lettre::transport::smtp::Error),
    /// The mail server greets without TLS.
    #[error(
        "the mail server does not begin with TLS at this port: write smtp://USER:PASSWORD@HOST:PORT?tls=required (STARTTLS, often port 587), or name its port for smtps (often 465)"
    )]
    NoTls,
    /// The message cannot be encoded as a mail.
    #[error("{0}")]
    Mail(#[from] lettre::error::Error),
    /// The target did not answer in time.
    #[error("no reply within {} s", ACCEPT_MAX.as_secs())]
    TimedOut,
}

impl From<lettre::transport::smtp::Error> for SendError {
    fn from(error: lettre::transport::smtp::Error) -> Self {
        if answers_without_tls(&error) { Self::NoTls } else { Self::Smtp(error) }
    }
}

impl Target {
    /// Sends one message.
    ///
    /// # Errors
    ///
    /// If the target did not accept it in time.
    pub(super) async fn send(&self, message: &Message) -> Result<(), SendError> {
        match &self.way {
            Way::Webhook { hook, body } => Ok(hook.post(message.json(body.as_deref()), ACCEPT_MAX).await?),
            Way::Mail { smtp, from, to } => {
                let id = message.mail_id(from.email.domain());
                let mail = Mail::builder().from(from.clone()).subject(message.subject()).message_id(Some(id));
                let mail = to.iter().fold(mail, |mail, to| mail.to(to.clone()));
                let mail = mail.header(ContentType::TEXT_PLAIN).body(message.text().to_owned())?;
                let sent = tokio::time::timeout(ACCEPT_MAX, smtp.send(mail)).await;
                sent.map_err(|_| SendError::TimedOut)??;
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // All else may be a secret.
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}
