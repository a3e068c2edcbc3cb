package adjourn

import (
	"net"
	"strconv"
	"strings"

	"github.com/adjourn/adjourn-go/internal/wire"
)

const (
	scheme    = "adjourn://"
	tlsScheme = "adjourns://"
)

// parseAddresses takes adjourn://host:port[,host:port], the same with adjourns:// for TLS, or without a scheme. The scheme of
// the first holds for all. It says whether TLS is spoken.
func parseAddresses(text string) (addresses []string, secure bool, err error) {
	written := ""
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		own := ""
		for _, known := range []string{scheme, tlsScheme} {
			if strings.HasPrefix(one, known) {
				own, one = known, strings.TrimPrefix(one, known)
			}
		}
		switch {
		case strings.Contains(one, "://"):
			return nil, false, usage("the address %q has an unknown scheme: use %shost:port, or %shost:port for TLS", text, scheme, tlsScheme)
		case len(addresses) == 0:
			written = own
		case own != "" && own != written:
			return nil, false, usage("%q: TLS is spoken with all servers or with none: write %s once, before the first", text, tlsScheme)
		}
		one = strings.TrimSuffix(one, "/")
		if one == "" {
			continue
		}
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port, err = net.SplitHostPort(one + ":" + strconv.Itoa(wire.PortDefault))
		}
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || strings.ContainsAny(host, "/@?#") {
			return nil, false, usage("the address %q is not host:port", one)
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	if len(addresses) == 0 {
		return nil, false, usage("%q has no address", text)
	}
	return addresses, written == tlsScheme, nil
}

// isSomewhere says whether an address that a server named is one to connect to: 0.0.0.0 would be this machine.
func isSomewhere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsUnspecified()
}
