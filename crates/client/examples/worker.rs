//! Handles jobs of the topic `mails` until Enter is pressed, then finishes what it has begun.
//!
//! Start a server with `adjourn serve`, push something (`adjourn push mails hello --delay 3s`, or
//! `cargo run -p adjourn-client --example producer`), then `cargo run -p adjourn-client --example worker`.

use adjourn_client::protocol::Delivered;
use adjourn_client::{Cancellation, Client, ClientConfig, Worker, WorkerConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect(ClientConfig::default()).await?;
    let worker = Worker::start(&client, WorkerConfig::new("mails".parse()?), send_mail).await?;
    println!("waiting for jobs; press Enter to stop");
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;

    worker.stop().await?;
    client.close().await?;
    Ok(())
}

/// `Ok` finishes the job; an error releases it, to be attempted again. When the lease is lost, somebody else may get the job:
/// this is dropped then at its next `await`, and asks before it does what must not be done twice.
async fn send_mail(job: Delivered, cancellation: Cancellation) -> Result<(), std::str::Utf8Error> {
    let text = str::from_utf8(&job.body)?;
    if let Some(why) = cancellation.why() {
        println!("job {} is not begun: {why}", job.lease.job);
        return Ok(());
    }
    println!("job {}, attempt {}: {text}", job.lease.job, job.attempts);
    Ok(())
}
