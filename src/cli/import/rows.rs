//! The rows of a table, as `mysqldump` and `mysql --batch` write them.

use std::collections::BTreeMap;

/// One row: values by column, in small letters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row(BTreeMap<String, String>);

/// Why a file has no rows that can be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowsError {
    /// It begins like no such file.
    #[error("expected what `mysqldump dq dq_topic` or `mysql --batch -e 'SELECT * FROM dq_topic' dq` writes")]
    Unknown,
    /// A row has another number of values than there are columns.
    #[error("row {row} has {found} values for {columns} columns")]
    Columns {
        /// Which, from 1.
        row: usize,
        /// Its values.
        found: usize,
        /// The columns.
        columns: usize,
    },
    /// A text does not end, or something else stands between values.
    #[error("row {0} cannot be read")]
    Row(usize),
}

/// The table whose rows are read.
const TABLE: &str = "dq_topic";
/// Its columns, unless the file names them.
const COLUMNS: [&str; 12] = [
    "id",
    "t_name",
    "delay",
    "callback",
    "timeout",
    "email",
    "topic",
    "re_notify_flag",
    "createor",
    "status",
    "method",
    "priority",
];

impl Row {
    /// The value of a column; empty without one.
    pub(super) fn get(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    fn of(columns: &[String], values: Vec<String>, row: usize) -> Result<Self, RowsError> {
        if values.len() != columns.len() {
            return Err(RowsError::Columns { row, found: values.len(), columns: columns.len() });
        }
        Ok(Self(columns.iter().cloned().zip(values).collect()))
    }
}

/// The rows of a file.
///
/// # Errors
///
/// It is none of the two kinds.
pub(super) fn read(text: &str) -> Result<Vec<Row>, RowsError> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    if first.split('\t').any(|column| column.trim().eq_ignore_ascii_case("topic")) {
        return batch(text);
    }
    if text.contains(TABLE) { dump(text) } else { Err(RowsError::Unknown) }
}

/// Lines of values with tabs between, the first of which names the columns.
fn batch(text: &str) -> Result<Vec<Row>, RowsError> {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let columns = lines.next().unwrap_or_default().split('\t');
    let columns: Vec<String> = columns.map(|column| column.trim().to_ascii_lowercase()).collect();
    let rows = (1..).zip(lines).map(|(row, line)| {
        let values =
            line.split('\t').map(|value| if value == "NULL" { String::new() } else { unescaped(value) });
        Row::of(&columns, values.collect(), row)
    });
    rows.collect()
}

/// The rows of all `INSERT INTO dq_topic` statements.
fn dump(text: &str) -> Result<Vec<Row>, RowsError> {
    let mut rows = Vec::new();
    for statement in text.split("INSERT INTO").skip(1) {
        let rest = statement.trim_start();
        let rest = rest.strip_prefix('`').unwrap_or(rest);
        let Some(rest) = rest.strip_prefix(TABLE) else { continue };
        let rest = rest.strip_prefix('`').unwrap_or(rest).trim_start();
        let Some((named, values)) = rest.split_once("VALUES") else { continue };
        let named = named.trim().trim_start_matches('(').trim_end_matches(')');
        let columns: Vec<String> = if named.is_empty() {
            COLUMNS.map(str::to_owned).into()
        } else {
            named.split(',').map(|column| column.trim().trim_matches('`').to_ascii_lowercase()).collect()
        };
        let mut rest = values.trim_start();
        while let Some(values) = rest.strip_prefix('(') {
            let row = rows.len() + 1;
            let (values, behind) = tuple(values).ok_or(RowsError::Row(row))?;
            rows.push(Row::of(&columns, values, row)?);
            rest = behind.trim_start().trim_start_matches(',').trim_start();
        }
    }
    Ok(rows)
}

/// The values up to the closing parenthesis, and what stands behind it.
fn tuple(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start());
    loop {
        let (value, behind) = if let Some(quoted) = rest.strip_prefix('\'') {
            quoted_value(quoted)?
        } else {
            let (value, behind) = rest.split_at(rest.find([',', ')'])?);
            let value = value.trim();
            (if value.eq_ignore_ascii_case("null") { String::new() } else { value.to_owned() }, behind)
        };
        values.push(value);
        let behind = behind.trim_start();
        if let Some(behind) = behind.strip_prefix(')') {
            return Some((values, behind));
        }
        rest = behind.strip_prefix(',')?.trim_start();
    }
}

/// A text up to its closing quotation mark, and what stands behind it.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            // Two of them are one.
            '\'' if text.get(at + 1..).is_some_and(|rest| rest.starts_with('\'')) => _ = characters.next(),
            '\'' => return Some((unescaped(&text.get(..at)?.replace("''", "'")), text.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// A value without backslashes before what they stand for.
fn unescaped(value: &str) -> String {
    let (mut plain, mut characters) = (String::with_capacity(value.len()), value.chars());
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some('0') => plain.push('\0'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            (character, false) => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(text: &str) -> Result<Vec<(String, String, String)>, RowsError> {
        let rows = read(text)?;
        Ok(rows
            .iter()
            .map(|row| (row.get("topic").into(), row.get("re_notify_flag").into(), row.get("delay").into()))
            .collect())
    }

    #[test]
    fn dumps_are_read() {
        let text = "-- MySQL dump\nDROP TABLE IF EXISTS `dq_topic`;\nCREATE TABLE `dq_topic` (\n `id` int(11) NOT NULL\n);\n\
            INSERT INTO `dq_other` VALUES (1,'x');\n\
            INSERT INTO `dq_topic` VALUES (1,'Name, (a)',300,'http://a/x?y=1',3000,'','orders','{res.code} != \\'200\\' && {res.a} == ''b''','me',1,'GET',2),\
            (2,'',0,'http://b',0,NULL,'mails','','',1,'POST',1);\nINSERT INTO dq_topic (`topic`, `Delay`) VALUES ('more', 5);\n";
        let found = topics(text).expect("rows");
        let of = |topic: &str, flag: &str, delay: &str| (topic.to_owned(), flag.to_owned(), delay.to_owned());
        assert_eq!(
            found,
            [
                of("orders", "{res.code} != '200' && {res.a} == 'b'", "300"),
                of("mails", "", "0"),
                of("more", "", "5")
            ]
        );
    }

    #[test]
    fn batches_are_read() {
        let text = "id\ttopic\tdelay\tre_notify_flag\n1\torders\t60\ta\\tb\\\\\n2\tmails\t0\tNULL\n";
        let found = topics(text).expect("rows");
        let of = |topic: &str, flag: &str, delay: &str| (topic.to_owned(), flag.to_owned(), delay.to_owned());
        assert_eq!(found, [of("orders", "a\tb\\", "60"), of("mails", "", "0")]);
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(topics("hello"), Err(RowsError::Unknown));
        assert_eq!(topics("INSERT INTO dq_topic VALUES (1,'a"), Err(RowsError::Row(1)));
        assert_eq!(
            topics("INSERT INTO dq_topic VALUES (1,'a');"),
            Err(RowsError::Columns { row: 1, found: 2, columns: 12 })
        );
        assert_eq!(topics("id\ttopic\n1\n"), Err(RowsError::Columns { row: 1, found: 1, columns: 2 }));
    }
}
