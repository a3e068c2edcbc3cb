//! The rows of a table, as `mysqldump` and `mysql --batch` write them.

use std::collections::BTreeMap;

/// One row: values by column, whose names are in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row(BTreeMap<String, String>);

/// Why the rows of a file cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowsError {
    /// It does not begin like any of the supported files.
    #[error("expected what `mysqldump dq dq_topic` or `mysql --batch -e 'SELECT * FROM dq_topic' dq` writes")]
    Unknown,
    /// A row has another number of values than there are columns.
    #[error("row {row} has {found} values for {columns} columns")]
    Columns {
        /// The number of the row, from 1.
        row: usize,
        /// The number of its values.
        found: usize,
        /// The number of columns.
        columns: usize,
    },
    /// Nothing is inserted into the table.
    #[error("there is no row of dq_topic")]
    Empty,
    /// A text does not end, or there is something unexpected between values.
    #[error("row {0} cannot be read")]
    Row(usize),
}

/// The table whose rows are read.
const TABLE: &str = "dq_topic";
/// The columns, unless the file names or declares them.
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
    /// The value of a column; empty if it is missing.
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

/// Reads the rows of a file.
///
/// # Errors
///
/// If it is of neither kind, or cannot be read.
pub(super) fn read(text: &str) -> Result<Vec<Row>, RowsError> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    if first.split('\t').any(|column| column.trim().eq_ignore_ascii_case("topic")) {
        return batch(text);
    }
    if text.contains(TABLE) { dump(text) } else { Err(RowsError::Unknown) }
}

/// Lines of values separated by tabs; the first line names the columns.
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

/// The rows of all statements that insert into the table.
fn dump(text: &str) -> Result<Vec<Row>, RowsError> {
    let text = &*blanked(text, false);
    // As long as the text, so that an offset in one is valid in the other.
    let small = blanked(text, true).to_ascii_lowercase();
    let declared = declared(&small).unwrap_or_else(|| COLUMNS.map(str::to_owned).into());
    let (mut rows, mut from) = (Vec::new(), 0);
    while let Some(at) = small.get(from..).and_then(|rest| rest.find(" into ")) {
        let (into, behind) = (from + at, from + at + " into ".len());
        from = behind;
        let before = small.get(..into).unwrap_or_default().trim_end();
        if !["insert", "insert ignore", "replace"].iter().any(|verb| before.ends_with(verb)) {
            continue;
        }
        let Some((named, values)) = of_table(small.get(behind..).unwrap_or_default()) else { continue };
        let columns: Vec<String> = if named.is_empty() {
            declared.clone()
        } else {
            named.split(',').map(|column| column.trim().trim_matches('`').to_owned()).collect()
        };
        let mut rest = text.get(behind + values..).unwrap_or_default().trim_start();
        loop {
            let row = rows.len() + 1;
            let tuple = rest.strip_prefix('(').and_then(tuple);
            let (values, behind) = tuple.ok_or(RowsError::Row(row))?;
            rows.push(Row::of(&columns, values, row)?);
            let behind = behind.trim_start();
            match behind.strip_prefix(',') {
                Some(next) => rest = next.trim_start(),
                None if behind.is_empty() || behind.starts_with(';') => {
                    from = text.len() - behind.len();
                    break;
                }
                None => return Err(RowsError::Row(row + 1)),
            }
        }
    }
    if rows.is_empty() { Err(RowsError::Empty) } else { Ok(rows) }
}

/// A text of SQL of the same length whose comments are spaces, and its texts in quotes too if `and_texts` is set.
fn blanked(sql: &str, and_texts: bool) -> String {
    let (mut plain, mut rest) = (String::with_capacity(sql.len()), sql);
    while let Some(at) = rest.find(['\'', '"', '`', '-', '#', '/']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let line = from.find('\n').unwrap_or(from.len());
        let (bytes, is_comment) = if from.starts_with('#') || is_dash_comment(from) {
            (line, true)
        } else if from.starts_with("/*") {
            (from.find("*/").map_or(from.len(), |end| end + 2), true)
        } else if from.starts_with(['-', '/']) {
            (1, false)
        } else {
            (quoted_bytes(from), false)
        };
        let (piece, behind) = from.split_at(bytes);
        if is_comment || and_texts && piece.starts_with(['\'', '"']) {
            plain.extend(std::iter::repeat_n(' ', piece.len()));
        } else {
            plain.push_str(piece);
        }
        rest = behind;
    }
    plain + rest
}

/// Two dashes begin a comment if a space follows, or nothing.
fn is_dash_comment(from: &str) -> bool {
    from.strip_prefix("--").is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// The length of the text in quotes with which a text of SQL begins. In a text, a backslash escapes.
fn quoted_bytes(from: &str) -> usize {
    let mut characters = from.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote != Some('`') {
            characters.next();
        } else if Some(character) == quote {
            return at + character.len_utf8();
        }
    }
    from.len()
}

/// The column names after the name of the table, and the offset of the values. `None` if it is another table.
fn of_table(text: &str) -> Option<(&str, usize)> {
    let (target, _) = text.split_once("values")?;
    let (name, columns) = target.split_once('(').unwrap_or((target, ""));
    is_table(name).then(|| (columns.trim().trim_end_matches(')'), target.len() + "values".len()))
}

/// True for the name of the table, in quotes or not, with the name of its database or without.
fn is_table(name: &str) -> bool {
    let name = name.trim();
    name.rsplit_once('.').map_or(name, |(_, name)| name).trim_matches('`') == TABLE
}

/// The columns of the statement that creates the table, in their order. `None` if there is no such statement.
fn declared(small: &str) -> Option<Vec<String>> {
    let mut statements = small.split("create table ").skip(1).filter_map(|rest| rest.split_once('('));
    let (_, body) = statements.find(|(name, _)| is_table(name.trim().trim_start_matches("if not exists")))?;
    let (mut columns, mut depth, mut begins) = (Vec::new(), 1, true);
    for word in
        body.split_inclusive(['(', ')', ',']).flat_map(|piece| piece.split_inclusive(char::is_whitespace))
    {
        let name = word.trim_matches(|end: char| end.is_whitespace() || "(),".contains(end));
        if begins && !name.is_empty() {
            if !NO_COLUMNS.contains(&name) {
                columns.push(name.trim_matches('`').to_owned());
            }
            begins = false;
        }
        match word.chars().last() {
            Some('(') => depth += 1,
            Some(')') if depth == 1 => break,
            Some(')') => depth -= 1,
            Some(',') if depth == 1 => begins = true,
            _ => {}
        }
    }
    Some(columns)
}

/// With these words begin the parts of a table's declaration that are no columns.
const NO_COLUMNS: [&str; 9] =
    ["primary", "unique", "key", "index", "constraint", "fulltext", "spatial", "foreign", "check"];

/// The values up to the closing parenthesis, and the rest of the text.
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

/// A text up to its closing quotation mark, and the rest.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            // A doubled quotation mark stands for one.
            '\'' if text.get(at + 1..).is_some_and(|rest| rest.starts_with('\'')) => _ = characters.next(),
            '\'' => return Some((unescaped(&text.get(..at)?.replace("''", "'")), text.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// Replaces escape sequences with what they stand for.
fn unescaped(value: &str) -> String {
    let (mut plain, mut characters) = (String::with_capacity(value.len()), value.chars());
    while let Some(character) = characters.next() {
        plain.push(match (character, characters.clone().next()) {
            ('\\', Some(escaped)) => {
                characters.next();
                match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    other => other,
                }
            }
            (plain, _) => plain,
        });
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
        let text = "-- MySQL dump\nDROP TABLE IF EXISTS `dq_topic`;\nCREATE TABLE `dq_other` (\n `id` int(11) NOT NULL\n);\n\
            INSERT INTO `dq_other` VALUES (1,'x');\nINSERT INTO `dq_topic_bak` VALUES (1);\n\
            INSERT INTO `dq_topic` VALUES (1,'Name, (a)',300,'http://a/x?y=1',3000,'','orders','{res.code} != \\'200\\' && {res.a} == ''b''','me',1,'GET',2),\
            (2,'',0,'http://b',0,NULL,'mails','','',1,'POST',1);\ninsert ignore into `dq`.`dq_topic` (`topic`, `Delay`, t_name) values ('more', 5, 'x INSERT INTO dq_topic VALUES (');\n";
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
    fn columns_are_in_the_order_of_the_table() {
        let text = "CREATE TABLE `dq_bak` (`status` int);\nCREATE TABLE IF NOT EXISTS `dq`.`dq_topic` (\n\
             `status` tinyint(1) NOT NULL DEFAULT '1' COMMENT 'one, (two)',\n  Topic varchar(20),\n\
             `delay` decimal(10,2) DEFAULT (1 + (2)),\n `key` enum('a','b'),\n `re_notify_flag` text,\n\
             PRIMARY KEY (`status`,`topic`),\n KEY `x` (`delay`)\n) ENGINE=InnoDB;\n\
            INSERT INTO `dq_topic` VALUES (1,'orders',300,'a','{status} != 200');\n";
        let row = ("orders".to_owned(), "{status} != 200".to_owned(), "300".to_owned());
        assert_eq!(topics(text), Ok(vec![row]));
        assert_eq!(
            topics("CREATE TABLE dq_topic (topic text, delay int); INSERT INTO dq_topic VALUES ('a');"),
            Err(RowsError::Columns { row: 1, found: 1, columns: 2 })
        );
    }

    #[test]
    fn comments_are_passed_over() {
        let text = "-- INSERT INTO dq_topic (topic) VALUES ('dashes');\n# INSERT INTO dq_topic (topic) VALUES ('hash');\n\
            /* INSERT INTO dq_topic (topic) VALUES ('stars'); */\n--INSERT INTO x VALUES (1);\n\
            INSERT INTO dq_topic (topic, re_notify_flag) /* all */ VALUES ('a', '# -- /* \\' */'), -- ('b', ''),\n\
            ('c--d', ''), # ('e', '')\n('f', '{res.a}==1') ;\n\
            INSERT INTO other VALUES ('INSERT INTO dq_topic (topic) VALUES (1)', \"x' INSERT INTO dq_topic (topic) VALUES (2)\");\n";
        let found: Vec<_> =
            topics(text).expect("rows").into_iter().map(|(topic, flag, _)| (topic, flag)).collect();
        let of = |topic: &str, flag: &str| (topic.to_owned(), flag.to_owned());
        assert_eq!(found, [of("a", "# -- /* ' */"), of("c--d", ""), of("f", "{res.a}==1")]);
        assert_eq!(topics("-- INSERT INTO dq_topic VALUES (1);"), Err(RowsError::Empty));
        assert_eq!(topics("/* INSERT INTO dq_topic VALUES (1);"), Err(RowsError::Empty));
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
        assert_eq!(topics("CREATE TABLE dq_topic (id int);"), Err(RowsError::Empty));
        assert_eq!(topics("INSERT INTO dq_topic (topic) VALUES ('a') x"), Err(RowsError::Row(2)));
        assert_eq!(
            topics("INSERT INTO dq_topic VALUES (1,'a');"),
            Err(RowsError::Columns { row: 1, found: 2, columns: 12 })
        );
        assert_eq!(topics("id\ttopic\n1\n"), Err(RowsError::Columns { row: 1, found: 1, columns: 2 }));
    }
}
