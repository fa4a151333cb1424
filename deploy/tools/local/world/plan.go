package world

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// plan says where in the address space the world's VPC and the addresses of its load balancers lie.
type plan struct {
	prefix             string // first two octets of the VPC
	internet, intranet string // ranges of load balancers; empty: the cloud's own
	claim              net.Listener
	dualStack          bool
}

// Loopback networks 127.N.0.0/16 of worlds with traffic; a world takes two in a row, and shows by listening on claimPort of the
// first that they are taken.
const (
	firstNetwork, networkPairs = 64, 90
	claimPort                  = "20001"
)

// planAddresses chooses private addresses or, for traffic, loopback addresses that no other world uses.
func planAddresses(traffic bool) (plan, error) {
	if !traffic {
		return plan{prefix: "192.168"}, nil
	}
	start := rand.IntN(networkPairs) //nolint:gosec // Nothing depends on its being hard to guess.
	for i := range networkPairs {
		n := firstNetwork + 2*((start+i)%networkPairs)
		prefix := "127." + strconv.Itoa(n)
		claim, err := net.Listen("tcp", net.JoinHostPort(prefix+".255.254", claimPort))
		if err != nil {
			continue
		}
		balancers := "127." + strconv.Itoa(n+1)
		return plan{prefix: prefix, internet: balancers + ".0.0/17", intranet: balancers + ".128.0/17", claim: claim}, nil
	}
	return plan{}, fmt.Errorf("find loopback networks for traffic: port %s is taken on all of them; stop other worlds", claimPort)
}

// release lets another world take the networks.
func (p plan) release() error {
	if p.claim == nil {
		return nil
	}
	return p.claim.Close()
}

func (p plan) vpc() string { return p.prefix + ".0.0/16" }
