//! The usual use of a delay queue: an order that is not paid within 15 minutes is closed.
//!
//! The order's number is the job's key. So the payment can take the job back, and a repeated checkout does not make a
//! second one. Start a server with `adjourn serve`, then `cargo run -p adjourn-client --example close_unpaid_orders`.

use adjourn_client::protocol::{ErrorCode, JobRef, NewJob};
use adjourn_client::types::{IfExists, JobId, Key, TopicName};
use adjourn_client::{Client, ClientConfig, ClientError};

const MINUTE_MS: u64 = 60_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect(ClientConfig::default()).await?;
    let topic: TopicName = "close-unpaid-order".parse()?;
    let order: Key = "order 1017".parse()?;

    let job = checked_out(&client, &topic, &order).await?;
    println!("{order} is closed in 15 minutes unless it is paid: job {job}");
    assert_eq!(checked_out(&client, &topic, &order).await?, job, "a repeated checkout keeps the job");

    if paid(&client, &topic, &order).await? {
        println!("{order} is paid: job {job} is gone");
    }
    assert!(!paid(&client, &topic, &order).await?, "there is nothing left to take back");

    client.close().await?;
    Ok(())
}

/// Pushes the job that will close the order; if it is there already, it stays as it is.
async fn checked_out(client: &Client, topic: &TopicName, order: &Key) -> Result<JobId, ClientError> {
    let mut job = NewJob::new(order.to_string()).after(15 * MINUTE_MS).key(order.clone());
    job.if_exists = IfExists::Keep;
    client.push_one(topic, job).await
}

/// Takes the job back. False if it was too late: the order is closed, or a worker is about to have closed it.
async fn paid(client: &Client, topic: &TopicName, order: &Key) -> Result<bool, ClientError> {
    let job = JobRef::Key { topic: topic.clone(), key: order.clone() };
    match client.delete(job).await {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some(ErrorCode::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}
