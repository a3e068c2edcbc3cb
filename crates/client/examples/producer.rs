//! Pushes ten thousand jobs, many in each request, and says how long that took.
//!
//! Start a server with `adjourn serve`, then `cargo run -p adjourn-client --example producer`.

use adjourn_client::protocol::NewJob;
use adjourn_client::{Client, ClientConfig, Producer, ProducerConfig};
use tokio::time::Instant;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect(ClientConfig::default()).await?;
    let producer = Producer::new(&client, "mails".parse()?, ProducerConfig::default());

    let started = Instant::now();
    let tickets: Vec<_> =
        (0..10_000).map(|n| producer.send(NewJob::new(format!("mail {n}")).after(2_000))).collect();
    producer.flush().await?;
    println!("10000 jobs are in the queue, durably, after {:?}", started.elapsed());

    // Each job's own outcome, if it is needed.
    let mut ids = Vec::new();
    for ticket in tickets {
        ids.push(ticket.await?);
    }
    println!("the first is job {:?}, the last is job {:?}", ids.first(), ids.last());

    drop(producer);
    client.close().await?;
    Ok(())
}
