//! The command line, as clap reads it: its help as people read it, and messages that name what is wrong.
//!
//! clap wraps the text below the options as a whole. Here examples and tables, whose lines begin with spaces, stay as they
//! are, so that they can be pasted; prose has the width of the terminal. When the environment has a wrong value, clap names
//! the flag that nobody gave: here the message names the variable.

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _, stderr, stdout};
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

use crate::exit::{Exit, Failure};
use adjourn_server::config::nearest;

/// Stands for a space at which no line is broken.
const FIXED_SPACE: char = '\u{a0}';

/// The command, with texts that are wrapped well, and with a word on values that begin with a minus.
pub(crate) fn prepared(command: Command) -> Command {
    let text = command.get_after_help().map(|text| unbroken(&text.to_string()));
    let command = text.into_iter().fold(command, Command::after_help);
    command.mut_args(taking_minus).mut_subcommands(prepared)
}

/// Lets durations and numbers begin with a minus: their parsers say that it is wrong. clap would take it for a flag.
fn taking_minus(argument: Arg) -> Arg {
    match argument.get_value_names() {
        Some([name]) if name == "DURATION" => argument.allow_hyphen_values(true),
        Some([name]) if NUMBERS.contains(&name.as_str()) => argument.allow_negative_numbers(true),
        _ => argument,
    }
}

/// What stands for a number in a help.
const NUMBERS: [&str; 7] = ["BYTES", "DAYS", "MS", "N", "N,N,...", "NUMBER", "PID"];

/// Joins the lines of each paragraph and of each item of a list, and keeps lines as they are that begin with spaces.
fn unbroken(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_prose = false;
    for line in text.lines() {
        let is_fixed = line.starts_with(' ') || line.is_empty();
        match lines.last_mut() {
            Some(last) if is_prose && !is_fixed && !line.starts_with("- ") => {
                *last = format!("{last} {line}");
            }
            _ => lines.push(line.replace(' ', if is_fixed { "\u{a0}" } else { " " })),
        }
        is_prose = !is_fixed && !line.ends_with(':');
    }
    lines.join("\n")
}

/// Ends the process with what clap prints: a help, a version, or an error that says what to do.
pub(crate) fn answer(command: &mut Command, mut error: Error) -> Failure {
    if let Some(message) = of_a_variable(command, &error) {
        return Failure::new(Exit::Usage, message);
    }
    if error.get(ContextKind::Usage).is_some() && error.kind() != ErrorKind::InvalidSubcommand {
        // clap's own shows what the environment sets as if it had to be given.
        command.build();
        let usage = given(command, std::env::args_os()).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    if error.kind() == ErrorKind::UnknownArgument {
        name_the_value(command, &mut error);
    }
    let text = error.render();
    let shown = |is_terminal: bool| {
        let text = if is_terminal && has_colours() { text.ansi().to_string() } else { text.to_string() };
        text.replace(FIXED_SPACE, " ")
    };
    // A reader that has gone away, as in `| head`, is not an error.
    let _ = if error.use_stderr() {
        stderr().write_all(shown(stderr().is_terminal()).as_bytes())
    } else {
        stdout().write_all(shown(stdout().is_terminal()).as_bytes())
    };
    std::process::exit(error.exit_code())
}

/// After a flag with the name of a value without a flag, says how to give that value. clap's tip is how to give the flag as a value.
fn name_the_value(command: &mut Command, error: &mut Error) {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let name = flag.trim_start_matches('-');
    let command = given(command, std::env::args_os());
    if command.get_positionals().any(|value| value.get_id() == name) {
        let tip = format!("give <{}> without {flag}", name.to_uppercase());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// False if the environment says that a terminal shows no colours.
fn has_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// The message for a wrong value that came from the environment.
fn of_a_variable(command: &Command, error: &Error) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (shown, value) = (of(ContextKind::InvalidArg)?, of(ContextKind::InvalidValue)?);
    let flag = shown.split([' ', '=']).next()?;
    let mut given = std::env::args_os().map(|given| given.to_string_lossy().into_owned());
    if given.any(|given| given == flag || given.starts_with(&format!("{flag}="))) {
        return None;
    }
    let mut variables =
        arguments(command).filter(|arg| arg.get_long().is_some_and(|long| flag == format!("--{long}")));
    let variable = variables.find_map(|arg| arg.get_env().filter(|name| std::env::var_os(name).is_some()))?;
    let why = error.source().map_or_else(
        || match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(possible)) => {
                format!("expected {}, found {value:?}", possible.join(" or "))
            }
            _ => format!("it cannot be {value:?}"),
        },
        ToString::to_string,
    );
    Some(format!("the variable {}: {why}", variable.display()))
}

/// The command that these arguments name.
fn given(command: &mut Command, arguments: impl Iterator<Item = OsString>) -> &mut Command {
    let mut found = command;
    for argument in arguments.skip(1) {
        if found.find_subcommand(&argument).is_none() {
            continue;
        }
        found = found.find_subcommand_mut(&argument).expect("just found");
    }
    found
}

/// The arguments of a command and of all below it.
fn arguments(command: &Command) -> Box<dyn Iterator<Item = &Arg> + '_> {
    Box::new(command.get_arguments().chain(command.get_subcommands().flat_map(arguments)))
}

/// For each variable that looks like one of Adjourn and is none: a sentence that says so.
pub(crate) fn unknown_variables(command: &Command) -> Vec<String> {
    let known: Vec<&str> =
        arguments(command).filter_map(|arg| arg.get_env()?.to_str()?.strip_prefix(PREFIX)).collect();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names = set.filter_map(|name| name.strip_prefix(PREFIX).map(str::to_owned));
    let unknown = names.filter(|name| !known.contains(&name.as_str()) && !is_for_others(name));
    unknown
        .map(|name| match nearest(&name, known.iter().copied()) {
            Some(meant) => {
                format!("{PREFIX}{name} is not a variable of Adjourn: do you mean {PREFIX}{meant}?")
            }
            None => {
                format!("{PREFIX}{name} is not a variable of Adjourn: the help of each command lists them")
            }
        })
        .collect()
}

const PREFIX: &str = "ADJOURN_";

/// True for the rest of a variable that tests of clients read, or that Kubernetes sets for a service called `adjourn` or
/// `adjourn-...`.
fn is_for_others(name: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let of_service = |pair: &[&str]| matches!(pair, ["SERVICE", "HOST" | "PORT"]);
    let of_port = |(nth, word): (usize, &&str)| {
        let next = words.get(nth + 1).copied().unwrap_or("0");
        *word == "PORT" && next.starts_with(|first: char| first.is_ascii_digit())
    };
    name == "BIN" || words.windows(2).any(of_service) || words.iter().enumerate().any(of_port)
}

/// Reads a whole number of this range; the error names the range.
pub(crate) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_kubernetes_are_left_alone() {
        for name in
            ["BIN", "PORT", "SERVICE_HOST", "HEADLESS_SERVICE_PORT_CLIENTS", "A_PORT", "A_PORT_7480_TCP_ADDR"]
        {
            assert!(is_for_others(name), "{name}");
        }
        for name in ["PEER_LISTEN", "PORT_NAME", "SERVICE", "HTTP_LISTEN"] {
            assert!(!is_for_others(name), "{name}");
        }
    }

    #[test]
    fn items_of_a_list_keep_their_lines() {
        assert_eq!(unbroken("It says:\n- one\nand more\n- two"), "It says:\n- one and more\n- two");
    }

    #[test]
    fn paragraphs_are_joined_and_examples_stay_in_one_piece() {
        let text = "Prose of\ntwo lines.\n\nExamples:\n  adjourn push a b\n  adjourn stats";
        let expected = "Prose of two lines.\n\nExamples:\n\u{a0}\u{a0}adjourn\u{a0}push\u{a0}a\u{a0}b\n\u{a0}\u{a0}adjourn\u{a0}stats";
        assert_eq!(unbroken(text), expected);
    }

    #[test]
    fn a_number_out_of_range_is_told_the_range() {
        let weight = whole(1..=u16::MAX);
        assert_eq!([weight("1"), weight("65535")], [Ok(1), Ok(65_535)]);
        for wrong in ["0", "65536", "99999999999999999999", "-1", "1.5", ""] {
            assert_eq!(weight(wrong), Err("expected a whole number from 1 to 65535".to_owned()), "{wrong:?}");
        }
    }
}
