package adjourn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
)

// TLS is how TLS is spoken with servers whose addresses begin with adjourns://. The server's name in it is set to the
// host that is dialled, unless it is set. Use it or [CAFile] and [CertificateFiles].
func TLS(c *tls.Config) Option { return func(cfg *config) { cfg.tls.config = c } }

// CAFile names a PEM file with the CAs that are believed; without it those of the system are.
func CAFile(path string) Option { return func(cfg *config) { cfg.tls.ca = path } }

// CertificateFiles names the PEM files of the certificate that servers are shown which ask for one, and of its key.
func CertificateFiles(certificate, key string) Option {
	return func(cfg *config) { cfg.tls.certificate, cfg.tls.key = certificate, key }
}

// tlsOptions is what the user said about TLS.
type tlsOptions struct {
	config               *tls.Config
	ca, certificate, key string
}

func (o tlsOptions) areNone() bool { return o == tlsOptions{} }

// read makes a configuration of the options.
func (o tlsOptions) read() (*tls.Config, error) {
	if o.config != nil {
		if o.ca != "" || o.certificate != "" || o.key != "" {
			return nil, usage("TLS has all that CAFile and CertificateFiles say: use one or the other")
		}
		return o.config.Clone(), nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if o.ca != "" {
		text, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, usage("the CA cannot be read: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage("%s has no certificate in PEM", o.ca)
		}
	}
	if (o.certificate == "") != (o.key == "") {
		return nil, usage("a certificate needs its key, and a key its certificate")
	}
	if o.certificate != "" {
		pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
		if err != nil {
			return nil, usage("the certificate of the client cannot be used: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// tlsDialer speaks TLS over what another dialer opens.
type tlsDialer struct {
	under  Dialer
	config *tls.Config
}

func (d *tlsDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.under.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := d.config
	if c.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			conn.Close()
			return nil, err
		}
		c = c.Clone()
		c.ServerName = host
	}
	secured := tls.Client(conn, c)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("no TLS with %s: %w", address, err)
	}
	return secured, nil
}
