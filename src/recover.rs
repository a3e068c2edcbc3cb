//! `adjourn recover`: continues with the rest of a log, or of a cluster, when the operator accepts the loss.

use std::path::PathBuf;

use super::exit::{Exit, Failure};
use super::output::show;
use super::serve::storage_exit;
use crate::draw_id::draw_id;
use crate::inspect::contents::{jobs_text, unreadable_text};
use crate::inspect::members;
use adjourn_raft::{Membership, MembershipChange};
use adjourn_server::wall;
use adjourn_storage::chunks::Manifest;
use adjourn_storage::{Alone, Salvage, StorageError, UnreadableJob};

const EXAMPLES: &str = "\
Examples:
  adjourn recover --data /var/lib/adjourn
  adjourn recover --data /var/lib/adjourn --yes
  adjourn recover --data /var/lib/adjourn --drop-unreadable
  adjourn recover --data /var/lib/adjourn --alone

The first example reports what would be kept and lost, and ends with 7 if there is a loss to accept. The second
keeps the entries up to the first missing or damaged one, and drops the rest. If you have a backup, restore it
instead. The old log stays in the directory as log.lost-N: delete it when you no longer need it. If a member of a
cluster has lost a part of its log, it is better to remove it and add it again under another number.

The third is for a node that ends because it cannot read a job in its checkpoint. It lists the jobs that --yes would
delete, by id, topic and time; everything else about them is lost. A member of a cluster gets such jobs from
the others by itself: it needs no recovery.

The fourth is for a cluster that has lost a majority for good and can no longer elect a leader. It reports
what --yes would do: this node continues as the only member of a new cluster, with all of its log, committed or not.
- Never do it while a majority of the members can still be started.
- If several members are left, do it on only one of them: the one with the highest term, and among those the longest
log, as this command reports.
- Everything that only the other members had is lost. Ids and fences that they may have assigned are not reused.
- The other members are refused from then on. Empty their data directories and add them under new numbers.

No server may run on the directory. The disk needs room for a second log, and with --drop-unreadable for the files
of the checkpoint that have such jobs.";

/// What `adjourn recover` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RecoverArgs {
    /// The data directory
    #[arg(long, env = "ADJOURN_DATA", value_name = "DIR")]
    data: PathBuf,
    /// Continue as the only member, because a majority of the cluster is lost for good
    #[arg(long)]
    alone: bool,
    /// Delete the jobs in the checkpoint that cannot be read
    #[arg(long)]
    drop_unreadable: bool,
    /// Do it, and accept that the missing data is lost for good
    #[arg(long)]
    yes: bool,
}

/// Runs `adjourn recover`.
pub(super) fn run(args: &RecoverArgs) -> Result<(), Failure> {
    let mut salvage = Salvage::examine(&args.data).map_err(|error| failure(&error))?;
    let data = args.data.display();
    if salvage.has_completed() {
        show("An earlier recovery was cut short: it is completed now.");
        if args.alone {
            show(format_args!("Done: `adjourn serve --data {data}` starts again."));
            return Ok(());
        }
    }
    if args.drop_unreadable {
        if !args.alone && has_others(&salvage) {
            let advice =
                "the other members have the jobs that cannot be read here: start the node, and it gets them";
            return Err(Failure::new(Exit::DataUnusable, advice));
        }
        let unreadable = salvage.drop_unreadable().map_err(|error| failure(&error))?;
        show(unreadable_report(unreadable));
    }
    if args.alone {
        if salvage.kept() == 0 {
            let advice = format!("{data} has no data to continue with: name the directory of a member");
            return Err(Failure::new(Exit::DataUnusable, advice));
        }
        show(alone_report(&salvage));
    } else if salvage.is_needed() {
        show(report(&salvage));
    } else {
        show(format_args!("The log is intact up to entry {}: there is nothing to recover.", salvage.kept()));
        if !args.drop_unreadable {
            show("To check whether each job in the checkpoint can be read, use --drop-unreadable.");
        }
        return Ok(());
    }
    if !args.yes {
        let alone = if args.alone { " --alone" } else { "" };
        let drop = if args.drop_unreadable { " --drop-unreadable" } else { "" };
        let advice =
            format!("nothing was changed. `adjourn recover --data {data}{alone}{drop} --yes` does it");
        return Err(Failure::new(Exit::DataDamaged, advice));
    }
    let done = if args.alone {
        let change = MembershipChange::Alone(salvage.node()).encode();
        salvage.go_on_alone(Alone { cluster_id: draw_id()?, storage_id: draw_id()?, change }, wall())
    } else {
        salvage.accept(draw_id()?, wall())
    };
    if let Some(kept) = done.map_err(|error| failure(&error))? {
        show(format_args!("The old log is kept as {kept}."));
    }
    show(format_args!("Done: `adjourn serve --data {data}` starts again."));
    Ok(())
}

fn has_others(salvage: &Salvage) -> bool {
    members_at_end(salvage).all().any(|member| member != salvage.node())
}

fn unreadable_report(unreadable: &[UnreadableJob]) -> String {
    if unreadable.is_empty() {
        return "Every job in the checkpoint can be read.".to_owned();
    }
    let mut lines = vec![format!("Lost: {} that cannot be read:", jobs_text(unreadable.len() as u64))];
    lines.extend(unreadable.iter().map(unreadable_text));
    lines.join("\n")
}

fn alone_report(salvage: &Salvage) -> String {
    let (node, kept, term) = (salvage.node(), salvage.kept(), salvage.kept_term());
    let members = members_at_end(salvage);
    let others: Vec<String> =
        members.all().filter(|member| *member != node).map(|member| member.to_string()).collect();
    let mut lines = Vec::new();
    lines.extend(salvage.obstacle().map(|obstacle| format!("Found: {obstacle}.")));
    lines.push(format!("Members: {}. This is node {node}.", members::text(&members)));
    lines.push(format!(
        "Kept: the log up to entry {kept} of term {term}. All of it counts as committed from then on."
    ));
    if let Some(durable) = salvage.durable().filter(|durable| *durable > kept) {
        lines.push(format!("Lost: the entries from {} to {durable}, which were here.", kept + 1));
    }
    lines.push("Lost: everything that only the other members had.".to_owned());
    lines.push(format!("Then: a new cluster, with node {node} as the only member."));
    if others.is_empty() {
        lines.push("It was the only member: `adjourn serve` needs no recovery for that.".to_owned());
    } else {
        let (others, majority) = (others.join(", "), members.majority());
        lines.push(format!(
            "Never: nodes {others} in this cluster. They are refused. Empty their data directories, and add them under \
             new numbers."
        ));
        lines.push(format!(
            "Do it only if fewer than {majority} of the voters can ever be started again. Of those that can, take the one \
             with the highest term, and among those the longest log."
        ));
    }
    lines.join("\n")
}

/// The members after everything that would be kept.
fn members_at_end(salvage: &Salvage) -> Membership {
    let begun = match salvage.checkpoint() {
        Some(Manifest { voters, learners, .. }) => {
            Membership { voters: voters.clone(), learners: learners.clone() }
        }
        None if salvage.is_founder() => Membership::alone(salvage.node()),
        None => Membership::default(),
    };
    members::after(begun, salvage.changes())
}

fn report(salvage: &Salvage) -> String {
    let kept = salvage.kept();
    let mut lines = Vec::new();
    lines.extend(salvage.obstacle().map(|obstacle| format!("Found: {obstacle}.")));
    lines.push(match kept {
        0 => "Kept: nothing.".to_owned(),
        kept => format!("Kept: the log entries up to {kept}."),
    });
    lines.push(match salvage.durable() {
        Some(durable) if durable > kept => {
            format!("Lost: the entries from {} to {durable}, and those after it if there were any.", kept + 1)
        }
        _ if salvage.obstacle().is_some() => {
            format!("Lost: the entries from {} on, if there were any.", kept + 1)
        }
        Some(_) if salvage.forgets_vote() => "Lost: no entry. The vote is forgotten.".to_owned(),
        Some(_) => "Lost: no entry.".to_owned(),
        None => {
            format!("Lost: unknown. The directory does not show whether there were entries after {kept}.")
        }
    });
    if has_others(salvage) {
        lines.push(format!(
            "Node {} is a member of a cluster, and the others refuse it afterwards. While they can elect a leader, remove \
             it instead, and add it anew under another number.",
            salvage.node()
        ));
    }
    lines.join("\n")
}

fn failure(error: &StorageError) -> Failure {
    Failure::new(storage_exit(error), error)
}
