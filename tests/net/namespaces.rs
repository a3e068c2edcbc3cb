//! The tests run in a network and a mount namespace of their own. So no other process sees what they create, and all of it
//! ends with them.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Set for the process that is inside already.
const INSIDE: &str = "ADJOURN_TEST_INSIDE";
/// The programs that are needed, and the packages that have them.
const PROGRAMS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("mount", "mount"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
];
/// Folders under which distributions put libfaketime.
const LIBRARIES: [&str; 4] = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib"];

/// Enters the namespaces, in place of this process. Returns once inside, or with the name of a missing tool.
pub(crate) fn enter() -> Result<(), String> {
    if std::env::var_os(INSIDE).is_some() {
        // Files under /run belong to this process alone from now on: `ip netns` keeps names there.
        run("mount", "-t tmpfs tmpfs /run");
        run("ip", "link set lo up");
        return Ok(());
    }
    let missing = missing();
    if !missing.is_empty() {
        return Err(format!("missing: {}", missing.join("; ")));
    }
    let own = ["--net", "--mount", "--propagation", "private", "--"];
    let tried = Command::new("unshare").args(own).arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return Err("root may not make namespaces (`unshare --net --mount` fails)".to_owned());
    }
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut inside = Command::new("unshare");
    inside.args(own).arg(this).args(std::env::args_os().skip(1)).env(INSIDE, "1");
    Err(inside.exec().to_string())
}

/// The missing requirements.
fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push("root".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (program, package) in PROGRAMS {
        if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
            missing.push(format!("`{program}` (package {package})"));
        }
    }
    if libfaketime().is_none() {
        missing.push("libfaketime (package faketime)".to_owned());
    }
    missing
}

/// The library that shows a program another time.
pub(crate) fn libfaketime() -> Option<PathBuf> {
    const NAME: &str = "faketime/libfaketime.so.1";
    LIBRARIES.iter().map(PathBuf::from).find_map(|folder| {
        let deeper = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let mut places =
            std::iter::once(folder.join(NAME)).chain(deeper.map(|entry| entry.path().join(NAME)));
        places.find(|place| place.is_file())
    })
}

/// Runs a program that has to succeed. Arguments are separated by blanks.
pub(crate) fn run(program: &str, arguments: &str) {
    let failure = try_run(program, arguments).err();
    assert!(failure.is_none(), "`{program} {arguments}` failed: {}", failure.unwrap_or_default());
}

/// As [`run`], for one that may fail: with what it says.
pub(crate) fn try_run(program: &str, arguments: &str) -> Result<(), String> {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}
