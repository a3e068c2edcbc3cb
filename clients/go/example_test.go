package adjourn_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// connect stands for adjourn.Dial(ctx, "adjourn://127.0.0.1:7440"): each example runs on a server of its own.
func connect(options ...adjourn.Option) (q *adjourn.Client, queue *adjourntest.Queue) {
	queue = adjourntest.Start(&examples)
	q, err := adjourn.Dial(context.Background(), queue.Addr(), options...)
	if err != nil {
		log.Fatal(err)
	}
	return q, queue
}

// noTest stands for the test of an example, which has none. Its servers run until all tests have ended.
type noTest struct {
	testing.TB
	cleanups []func()
}

var examples noTest

func (*noTest) Helper()                   {}
func (n *noTest) Cleanup(end func())      { n.cleanups = append(n.cleanups, end) }
func (*noTest) Fatal(a ...any)            { log.Fatal(a...) }
func (*noTest) Fatalf(f string, a ...any) { log.Fatalf(f, a...) }

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range examples.cleanups {
		end()
	}
	os.Exit(code)
}

func ExampleClient_Push() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	id, err := q.Push(ctx, "reminders", map[string]any{"order": 17}, adjourn.Delay(24*time.Hour), adjourn.Key("order-17"))
	if err != nil {
		log.Fatal(err)
	}
	job, err := q.Get(ctx, adjourn.ByID(id))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, job.Key, string(job.Body))

	// The key is taken: the queue refuses another job, and says which one has it.
	_, err = q.Push(ctx, "reminders", "again", adjourn.Key("order-17"))
	var refused *adjourn.Error
	fmt.Println(errors.Is(err, adjourn.ErrKeyExists), errors.As(err, &refused) && refused.Job == id)
	// Output:
	// delayed order-17 {"order":17}
	// true true
}

func ExampleClient_PushBatch() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	results, err := q.PushBatch(ctx, "emails", []adjourn.NewJob{
		{Body: "to ann", Key: "ann"},
		{Body: "to bob", Key: "bob", Delay: time.Minute},
		{Body: "to ann", Key: "ann"},
	})
	if err != nil {
		log.Fatal(err) // a request failed as a whole
	}
	for _, r := range results {
		fmt.Println(r.ID, r.Err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 0 adjourn: refused: KEY_EXISTS, for job 1
}

func ExampleClient_Worker() {
	ctx, stop := context.WithCancel(context.Background())
	q, _ := connect()
	defer q.Close()
	if _, err := q.Push(ctx, "emails", "hello"); err != nil {
		log.Fatal(err)
	}
	worker := q.Worker("emails", func(ctx context.Context, job *adjourn.Job) error {
		fmt.Println(string(job.Body), "at attempt", job.Attempts)
		if job.Attempts == 1 {
			return adjourn.RetryAfter(0, errors.New("the mail server is away"))
		}
		stop()
		return nil
	})
	// Run drains when ctx is done.
	fmt.Println(worker.Run(ctx))
	// Output:
	// hello at attempt 1
	// hello at attempt 2
	// <nil>
}

func ExampleClient_Subscribe() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	sub, err := q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"emails"}, CreditJobs: 10})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := q.Push(ctx, "emails", "hello"); err != nil {
		log.Fatal(err)
	}
	job, err := sub.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(job.Body), job.Finish(ctx), sub.Unsubscribe(ctx))
	// Output: hello <nil> <nil>
}

func ExampleClient_List() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	for i := 1; i <= 3; i++ {
		if _, err := q.Push(ctx, "orders", "", adjourn.Key(fmt.Sprint("order-", i)), adjourn.Delay(time.Hour)); err != nil {
			log.Fatal(err)
		}
	}
	jobs := q.List(adjourn.Filter{Topic: "orders", KeyPrefix: "order-"}, adjourn.ListOptions{})
	for jobs.Next(ctx) {
		fmt.Println(jobs.Job().Key, jobs.Job().State)
	}
	if err := jobs.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// order-1 delayed
	// order-2 delayed
	// order-3 delayed
}

func ExampleClient_Bulk() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	for i := 0; i < 5; i++ {
		if _, err := q.Push(ctx, "orders", "", adjourn.Delay(time.Hour)); err != nil {
			log.Fatal(err)
		}
	}
	steps := q.Bulk(adjourn.RunJobsNow(), adjourn.Filter{Topic: "orders"}).StepJobs(2)
	for steps.Next(ctx) {
		fmt.Println(steps.Changed())
	}
	fmt.Println(steps.Err())
	// Output:
	// 2
	// 4
	// 5
	// <nil>
}

func ExampleClient_SetTopic() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	ttr, dead := 10*time.Minute, "dead-letters"
	if err := q.SetTopic(ctx, "reports", adjourn.Policy{TTR: &ttr, DeadLetters: &dead}); err != nil {
		log.Fatal(err)
	}
	if err := q.SetTopic(ctx, "reports", adjourn.Policy{}, adjourn.SettingDeadLetters); err != nil {
		log.Fatal(err)
	}
	topic, err := q.Topic(ctx, "reports")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*topic.Policy.TTR, topic.Policy.DeadLetters)
	// Output: 10m0s <nil>
}

func ExampleClient_SetTopic_callBack() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	url, timeout := "https://shop.example.com/due/{key}", 10*time.Second
	if err := q.SetTopic(ctx, "orders", adjourn.Policy{CallBack: &url, CallBackTimeout: &timeout}); err != nil {
		log.Fatal(err)
	}
	topic, err := q.Topic(ctx, "orders")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*topic.Policy.CallBack, *topic.Policy.CallBackTimeout)
	// Output: https://shop.example.com/due/{key} 10s
}

func ExampleClient_Edit() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	order := adjourn.ByKey("reminders", "order-17")
	if _, err := q.Push(ctx, "reminders", "call ann", adjourn.Delay(time.Hour), adjourn.Key("order-17"), adjourn.Attempts(3)); err != nil {
		log.Fatal(err)
	}
	if _, err := q.Edit(ctx, order, adjourn.Body("call bob"), adjourn.Priority(1), adjourn.WithoutAttempts()); err != nil {
		log.Fatal(err)
	}
	job, err := q.Get(ctx, order)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, string(job.Body), job.Priority, job.AttemptsMax)
	// Output: delayed call bob 1 25
}

func ExampleClient_PushOnce() {
	ctx := context.Background()
	q, _ := connect()
	defer q.Close()
	key := adjourn.IdempotencyKeyOf("checkout-17")
	for i := 0; i < 2; i++ {
		fmt.Println(q.PushOnce(ctx, key, "emails", "hello"))
	}
	fmt.Println(q.Count(ctx, adjourn.Filter{Topic: "emails"}))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
}

// Each job says for whom it is, which the worker reads from the header.
func ExampleOnPush() {
	type tenant struct{}
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), tenant{}, "ann"))
	q, _ := connect(adjourn.OnPush(func(ctx context.Context, topic string, job *adjourn.NewJob) {
		if name, some := ctx.Value(tenant{}).(string); some {
			job.SetHeader("tenant", name)
		}
	}))
	defer q.Close()
	if _, err := q.Push(ctx, "emails", "hello"); err != nil {
		log.Fatal(err)
	}
	worker := q.Worker("emails", func(ctx context.Context, job *adjourn.Job) error {
		fmt.Println("for", job.Header("tenant"))
		stop()
		return nil
	})
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// for ann
}

func ExampleClient_Backup() {
	ctx := context.Background()
	q, err := adjourn.Dial(ctx, "adjourn://127.0.0.1:7440")
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	backup, err := q.Backup(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer backup.End(ctx)
	hash := sha256.New()
	if _, err := io.Copy(hash, backup.NewReader(ctx)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d jobs, %d bytes, %x\n", backup.Jobs, backup.Bytes, hash.Sum(nil))
}

// The clock of a server for tests stands still until the test moves it.
func ExampleClient_Reserve() {
	ctx := context.Background()
	q, queue := connect()
	defer q.Close()
	if _, err := q.Push(ctx, "reminders", "call ann", adjourn.Delay(24*time.Hour)); err != nil {
		log.Fatal(err)
	}
	for i := 0; i < 2; i++ {
		jobs, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"reminders"}, Max: 10})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(jobs), "jobs")
		for _, job := range jobs {
			fmt.Println(string(job.Body), job.Finish(ctx))
		}
		queue.Advance(24 * time.Hour)
	}
	// Output:
	// 0 jobs
	// 1 jobs
	// call ann <nil>
}
