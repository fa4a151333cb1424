package world

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below the range from which the kernel takes those of outgoing connections, so that a port found free stays
// free until its process listens. They are divided into blocks, one for each world, which shows by listening on the first port of
// its block that the others are taken.
const firstPort, lastPort, blockSize = 20000, 32000, 40

// block is the ports of a world.
type block struct {
	addresses []string
	claim     net.Listener
}

// takeBlock returns n loopback addresses on which no process listens, and keeps other worlds from them until it is released.
func takeBlock(n int) (block, error) {
	const blocks = (lastPort - firstPort) / blockSize
	start := rand.IntN(blocks) //nolint:gosec // Nothing depends on its being hard to guess.
	for i := range blocks {
		first := firstPort + (start+i)%blocks*blockSize
		claim, err := net.Listen("tcp", loopbackPort(first))
		if err != nil {
			continue
		}
		if b := (block{freePorts(first+1, first+blockSize, n), claim}); len(b.addresses) == n {
			return b, nil
		}
		_ = claim.Close()
	}
	return block{}, fmt.Errorf("find %d free ports: none of the %d blocks of %d between %d and %d has them; stop other worlds",
		n, blocks, blockSize, firstPort, lastPort)
}

// release lets another world take the ports.
func (b block) release() error {
	if b.claim == nil {
		return nil
	}
	return b.claim.Close()
}

// freePorts returns up to n addresses with ports from first to before end on which no process listens.
func freePorts(first, end, n int) []string {
	var addresses []string
	for port := first; port < end && len(addresses) < n; port++ {
		l, err := net.Listen("tcp", loopbackPort(port))
		if err != nil {
			continue
		}
		_ = l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

func loopbackPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
