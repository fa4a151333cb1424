package world

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below the range from which the kernel takes those of outgoing connections, so that a port found free stays
// free until its process listens.
const firstPort, lastPort = 20000, 32000

// freePorts returns loopback addresses nobody listens on. Worlds that start together begin their search at different ports.
func freePorts(n int) ([]string, error) {
	var addresses []string
	port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // Nothing depends on its being hard to guess.
	for tries := 0; len(addresses) < n; tries++ {
		if tries > lastPort-firstPort {
			return nil, fmt.Errorf("find free ports: only %d of %d between %d and %d", len(addresses), n, firstPort, lastPort)
		}
		if port++; port >= lastPort {
			port = firstPort
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		_ = l.Close()
		addresses = append(addresses, address)
	}
	return addresses, nil
}
