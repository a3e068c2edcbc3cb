package adjourn

import (
	"net"
	"strconv"
	"strings"
)

const (
	scheme      = "adjourn://"
	defaultPort = "7440"
)

// parseAddresses takes adjourn://host:port[,host:port], or the same without the scheme.
func parseAddresses(text string) ([]string, error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(text, scheme), "/")
	if strings.Contains(rest, "://") {
		return nil, usage("the address %q has an unknown scheme: use %shost:port", text, scheme)
	}
	var addresses []string
	for _, one := range strings.Split(rest, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port, err = net.SplitHostPort(one + ":" + defaultPort)
		}
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || strings.ContainsAny(host, "/@?#") {
			return nil, usage("the address %q is not host:port", one)
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	if len(addresses) == 0 {
		return nil, usage("%q has no address", text)
	}
	return addresses, nil
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
