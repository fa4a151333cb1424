package dataplane

import (
	"net/netip"
	"time"
)

// maxPersistent bounds the clients that a pool remembers; the table of the cloud is bounded too.
const maxPersistent = 1 << 16

// persistence keeps the clients of a TCP listener at their servers. It is not safe for concurrent use.
type persistence struct {
	clients map[netip.Addr]placement
}

type placement struct {
	target  targetID
	expires time.Time
}

// find returns the server of a client, if it is still one of targets.
func (p *persistence) find(client netip.Addr, targets []target, now time.Time) (target, bool) {
	known, ok := p.clients[client]
	if !ok || !now.Before(known.expires) {
		return target{}, false
	}
	for _, t := range targets {
		if t.id == known.target {
			return t, true
		}
	}
	return target{}, false
}

// keep remembers a client until its last connection is timeout ago.
func (p *persistence) keep(client netip.Addr, id targetID, now time.Time, timeout time.Duration) {
	if p.clients == nil {
		p.clients = map[netip.Addr]placement{}
	}
	if len(p.clients) >= maxPersistent {
		p.forget(now)
	}
	p.clients[client] = placement{target: id, expires: now.Add(timeout)}
}

// forget makes room: those whose time is over go, and if there are none, an arbitrary one.
func (p *persistence) forget(now time.Time) {
	before := len(p.clients)
	for client, known := range p.clients {
		if !now.Before(known.expires) {
			delete(p.clients, client)
		}
	}
	if len(p.clients) < before {
		return
	}
	for client := range p.clients {
		delete(p.clients, client)
		return
	}
}
