package adjourntest_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adjourn/adjourn-go/adjourntest"
)

// dies says to the process of TestAServerEndsWithTheProcessOfItsTest that it is the one that dies, and of what.
const dies = "TEST_DIES_WITH_A_SERVER"

func TestAServerEndsWithTheProcessOfItsTest(t *testing.T) {
	switch os.Getenv(dies) {
	case "kill":
		os.Stdout.WriteString("serving " + adjourntest.Start(t).Addr() + "\n")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang up": // as a terminal does that is closed
		os.Stdout.WriteString("serving " + adjourntest.Start(t).Addr() + "\n")
		syscall.Kill(0, syscall.SIGHUP)
		select {}
	}
	for _, of := range []string{"kill", "hang up"} {
		t.Run(of, func(t *testing.T) { testDies(t, of) })
	}
}

func testDies(t *testing.T, of string) {
	child := exec.Command(os.Args[0], "-test.run=^TestAServerEndsWithTheProcessOfItsTest$")
	child.Env = append(os.Environ(), dies+"="+of)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if _, after, is := strings.Cut(lines.Text(), "serving "); is {
			address = after
		}
	}
	if err := child.Wait(); err == nil || address == "" {
		t.Fatalf("the other process ended with %v, and its server was %q", err, address)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return // it is gone
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server outlives the process of its test")
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
