package adjourn_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// certificates makes a folder with a CA, a certificate of a server on 127.0.0.1, and one of a client.
func certificates(t *testing.T) func(name string) string {
	folder := t.TempDir()
	binary := must[string](t)(adjourntest.FindBinary())
	for _, what := range []string{"node 1 --host 127.0.0.1", "client shop"} {
		args := append([]string{"cert"}, strings.Fields(what)...)
		if out, err := exec.Command(binary, append(args, "--dir", folder)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return func(name string) string { return filepath.Join(folder, name) }
}

func secureServer(t *testing.T, path func(string) string, args ...string) *adjourntest.Server {
	own := []string{"--tls-cert", path("node-1.pem"), "--tls-key", path("node-1.key")}
	return adjourntest.StartServer(t, append(own, args...)...)
}

func TestTLS(t *testing.T) {
	path := certificates(t)
	server := secureServer(t, path)
	ctx := testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, "adjourns://"+server.Addr(), adjourn.CAFile(path("ca.pem"))))
	defer q.Close()
	large := bytes.Repeat([]byte("x"), 1<<20)
	done := make(chan []byte, 1)
	go func() {
		jobs, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"large"}, Wait: 20 * time.Second})
		if err != nil || len(jobs) != 1 {
			t.Errorf("%v, %v", jobs, err)
			done <- nil
			return
		}
		body := jobs[0].Body
		if err := jobs[0].Finish(ctx); err != nil {
			t.Error(err)
		}
		done <- body
	}()
	for i := 0; i < 100; i++ {
		must[adjourn.JobID](t)(q.Push(ctx, "small", "x"))
	}
	must[adjourn.JobID](t)(q.Push(ctx, "large", large))
	if body := <-done; !bytes.Equal(body, large) {
		t.Errorf("%d bytes", len(body))
	}
	// It comes back after the server was away.
	server.Kill()
	server.Start()
	must[adjourn.JobID](t)(q.Push(ctx, "small", "x"))
}

func TestTLSRefuses(t *testing.T) {
	path, foreign := certificates(t), certificates(t)
	server := secureServer(t, path)
	strict := secureServer(t, path, "--tls-client-ca", path("ca.pem"))
	ctx := testContext(t)
	patient := adjourn.ConnectTimeout(10 * time.Second)
	for name, c := range map[string]struct {
		address string
		options []adjourn.Option
		want    string
	}{
		"another CA":      {"adjourns://" + server.Addr(), []adjourn.Option{adjourn.CAFile(foreign("ca.pem"))}, "certificate"},
		"the system's":    {"adjourns://" + server.Addr(), nil, "certificate"},
		"another host":    {"adjourns://" + strings.Replace(server.Addr(), "127.0.0.1", "localhost", 1), []adjourn.Option{adjourn.CAFile(path("ca.pem"))}, "localhost"},
		"none to show":    {"adjourns://" + strict.Addr(), []adjourn.Option{adjourn.CAFile(path("ca.pem"))}, "certificate"},
		"plain":           {server.Addr(), nil, "adjourns://"},
		"half a pair":     {"adjourns://" + server.Addr(), []adjourn.Option{adjourn.CertificateFiles(path("shop.pem"), "")}, "needs its key"},
		"no such CA":      {"adjourns://" + server.Addr(), []adjourn.Option{adjourn.CAFile("gone.pem")}, "gone.pem"},
		"for a plain one": {server.Addr(), []adjourn.Option{adjourn.CAFile(path("ca.pem"))}, "adjourns://"},
	} {
		_, err := adjourn.Dial(ctx, c.address, append(c.options, patient)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	shown := adjourn.CertificateFiles(path("shop.pem"), path("shop.key"))
	must[*adjourn.Client](t)(adjourn.Dial(ctx, "adjourns://"+strict.Addr(), adjourn.CAFile(path("ca.pem")), shown)).Close()
}
