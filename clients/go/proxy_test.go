package adjourn_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/adjourn/adjourn-go/adjourntest"
)

// proxy stands between a client and a server, and can hold answers back and cut connections.
type proxy struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	moved   *sync.Cond
	conns   []net.Conn
	held    bool // answers are held back
	holding int  // bytes of answers that are held back
	refuse  bool // new connections are closed at once
}

// behindProxy starts a server that names the proxy as its address, so that clients of the proxy stay with it.
func behindProxy(t testing.TB, args ...string) (*adjourntest.Server, *proxy) {
	t.Helper()
	p := newProxy(t)
	server := adjourntest.StartServer(t, append(args, "--client-address", p.addr())...)
	p.mu.Lock()
	p.to = server.Addr()
	p.mu.Unlock()
	return server, p
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.moved = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	go p.accept()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse, to := p.refuse, p.to
		p.mu.Unlock()
		if refuse {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		go p.answers(client, server)
	}
}

func (p *proxy) answers(client, server net.Conn) {
	defer client.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		p.mu.Lock()
		p.holding += n
		for p.held && err == nil {
			p.moved.Wait()
			if !p.held {
				break
			}
		}
		p.holding -= n
		p.mu.Unlock()
		if _, werr := client.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

// hold holds answers back from now on.
func (p *proxy) hold() {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
}

func (p *proxy) holds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holding
}

// drop cuts all connections, with the answers that are held back.
func (p *proxy) drop() {
	p.cut()
	p.mu.Lock()
	p.held = false
	p.moved.Broadcast()
	p.mu.Unlock()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (p *proxy) setRefuse(refuse bool) {
	p.mu.Lock()
	p.refuse = refuse
	p.mu.Unlock()
}
