package adjourntest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adjourn/adjourn-go/adjourntest"
)

// role says to another process of TestAServerEndsWithTheProcessOfItsTest what it is there for.
const role = "TEST_SERVER_ROLE"

func TestAServerEndsWithTheProcessOfItsTest(t *testing.T) {
	switch os.Getenv(role) {
	case "killed":
		startAndLeave(t)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hung up": // as by a terminal that is closed
		startAndLeave(t)
		hungUp := make(chan os.Signal, 1)
		signal.Notify(hungUp, syscall.SIGHUP) // Go leaves it ignored where `nohup` has ignored it
		syscall.Kill(0, syscall.SIGHUP)
		<-hungUp
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "left behind":
		io.Copy(io.Discard, os.Stdin)
		return
	}
	for _, end := range []string{"killed", "hung up"} {
		t.Run(end, func(t *testing.T) { testEnd(t, end) })
	}
}

// otherProcess is this test again, in another process.
func otherProcess(as string) *exec.Cmd {
	other := exec.Command(os.Args[0], "-test.run=^TestAServerEndsWithTheProcessOfItsTest$")
	other.Env = append(os.Environ(), role+"="+as)
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return other
}

// startAndLeave starts two servers, and a process that outlives this one and must not hold their standard input.
func startAndLeave(t *testing.T) {
	queue, server := adjourntest.Start(t), adjourntest.StartServer(t)
	left := otherProcess("left behind")
	left.Stdin = os.Stdin
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("serving", queue.Addr(), server.Addr())
}

func testEnd(t *testing.T, end string) {
	child := otherProcess(end)
	child.Env = append(child.Env, "TMPDIR="+t.TempDir()) // it removes no files
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	input, keep, err := os.Pipe() // ends the process that is left behind
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	child.Stdin = input
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	input.Close()
	var addresses []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if _, after, is := strings.Cut(lines.Text(), "serving "); is {
			addresses = strings.Fields(after)
		}
	}
	if err := child.Wait(); err == nil || len(addresses) != 2 {
		t.Fatalf("the other process ended with %v, and its servers were %q", err, addresses)
	}
	for _, address := range addresses {
		expectGone(t, address)
	}
	if _, err := keep.WriteString("x"); err != nil {
		t.Errorf("the process that was left behind has ended too early: %v", err)
	}
}

func expectGone(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatalf("the server on %s outlives the process of its test", address)
		}
	}
}

func TestTheBinaryIsFoundOrTheErrorSaysWhatToDo(t *testing.T) {
	binary, err := adjourntest.FindBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	onPath := filepath.Join(folder, "adjourn")
	if err := os.Symlink(binary, onPath); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ADJOURN_BIN", "")
	t.Setenv("PATH", folder)
	if found, err := adjourntest.FindBinary(); found != onPath || err != nil {
		t.Errorf("%q, %v", found, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := adjourntest.FindBinary(); err == nil || !strings.Contains(err.Error(), "install adjourn") || !strings.Contains(err.Error(), "ADJOURN_BIN") {
		t.Errorf("%v", err)
	}
	t.Setenv("ADJOURN_BIN", filepath.Join(folder, "missing"))
	if _, err := adjourntest.FindBinary(); err == nil || !strings.Contains(err.Error(), "ADJOURN_BIN is not the server") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	test := &fails{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		adjourntest.Start(test, "--data", t.TempDir())
	}()
	<-ended
	expect(t, test.said, "--memory", "data")
}

// Settings of servers in the environment of a developer are not for servers of tests.
func TestAServerTakesNoSettingsFromTheEnvironment(t *testing.T) {
	t.Setenv("ADJOURN_DATA", t.TempDir())
	adjourntest.Start(t).AssertEmpty()
}
