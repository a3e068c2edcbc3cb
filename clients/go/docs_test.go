package adjourn_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adjourn/adjourn-go/adjourntest"
)

// program is a whole program on a page, and what the page says that it prints.
type program struct{ code, prints string }

func programs(t *testing.T, page string) []program {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []program
	for _, block := range strings.Split(string(text), "\n```")[0:] {
		switch {
		case strings.HasPrefix(block, "go\npackage main\n"):
			found = append(found, program{code: strings.TrimPrefix(block, "go\n")})
		case strings.HasPrefix(block, "text\n") && len(found) > 0:
			found[len(found)-1].prints = strings.TrimPrefix(block, "text\n") + "\n"
		}
	}
	return found
}

// output is what a running program has printed.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestTheProgramsOnThePages(t *testing.T) {
	for page, count := range map[string]int{"README.md": 2, "docs/tutorial.md": 3} {
		page, count := page, count
		t.Run(page, func(t *testing.T) {
			server := adjourntest.StartServer(t)
			all := programs(t, page)
			if len(all) != count {
				t.Fatalf("%d programs on the page", len(all))
			}
			for i, p := range all {
				if p.prints == "" {
					t.Fatalf("the page does not say what program %d prints", i)
				}
				runProgram(t, page, fmt.Sprint("program", i), strings.ReplaceAll(p.code, "127.0.0.1:7440", server.Addr()), p.prints)
			}
		})
	}
}

// The page's test of the page's code passes, and fails if the code is wrong.
func TestTheTestOnThePage(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, block := range strings.Split(string(text), "\n```") {
		if strings.HasPrefix(block, "go\npackage reminders\n") {
			files = append(files, strings.TrimPrefix(block, "go\n"))
		}
	}
	if len(files) != 2 {
		t.Fatalf("%d files on the page", len(files))
	}
	for _, c := range []struct{ code, says string }{
		{files[0], "ok"},
		{strings.ReplaceAll(files[0], "24*time.Hour", "23*time.Hour"), "no job was pushed to \"reminders\" with key \"order-17\", delay 24h0m0s"},
		{strings.ReplaceAll(files[0], "return send(r.Order)", "return nil"), "the reminder was not sent once"},
	} {
		test := exec.Command("go", "test")
		test.Dir = filepath.Join(moduleOf(t, "README.md", map[string]string{
			"reminders/reminders.go": c.code, "reminders/reminders_test.go": files[1],
		}), "reminders")
		said, err := test.CombinedOutput()
		if (err == nil) != (c.says == "ok") || !strings.Contains(string(said), c.says) {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// moduleOf is the folder of a module that is made as the page says, with these files.
func moduleOf(t *testing.T, page string, files map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	_, install, _ := strings.Cut(string(text), "\n```sh\n")
	install, _, _ = strings.Cut(install, "\n```")
	typed := exec.Command("sh", "-ec", install+"\npwd")
	typed.Dir = t.TempDir()
	typed.Env = append(os.Environ(), "ADJOURN="+checkout)
	var said bytes.Buffer
	typed.Stderr = &said
	printed, err := typed.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	folder := strings.TrimSpace(string(printed))
	for file, text := range files {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func runProgram(t *testing.T, page, name, code, prints string) {
	t.Helper()
	folder := moduleOf(t, page, map[string]string{"main.go": code})
	build := exec.Command("go", "build", "-o", name, ".")
	build.Dir = folder
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var printed, log output
	run := exec.Command(filepath.Join(folder, name))
	run.Stdout, run.Stderr = &printed, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for deadline := time.Now().Add(patience); printed.String() != prints; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			run.Process.Kill()
			t.Fatalf("%s printed %q instead of %q\n%s", name, printed.String(), prints, log.String())
		}
	}
	if strings.Contains(code, "signal.NotifyContext") {
		run.Process.Signal(os.Interrupt) // a worker runs until then
	}
	select {
	case err := <-ended:
		if err != nil || beyondWarnings(log.String()) != "" || printed.String() != prints {
			t.Errorf("%s ended with %v\n%s%s", name, err, printed.String(), log.String())
		}
	case <-time.After(patience):
		run.Process.Kill()
		t.Errorf("%s does not stop", name)
	}
}

// beyondWarnings is what a log says beside failures of handlers, which the programs show on purpose.
func beyondWarnings(log string) string {
	var rest []string
	for _, line := range strings.Split(log, "\n") {
		if !strings.Contains(line, "adjourn: warning: the handler of job") {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "\n")
}
