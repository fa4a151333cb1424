package memory

import (
	"encoding/binary"
	"slices"
	"unique"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// packed are the servers of a vServer group as they are remembered. Services with the same nodes have the same servers but for port and description:
// they share one list, which goes with the last of them. 1 000 servers of a Service took 64 KiB.
type packed struct {
	// list is empty for no servers.
	list unique.Handle[string]
	// port and description are those of the first server. Servers that have others bring them along.
	port        int32
	description string
}

// The servers that bring along what they don't have in common with the first one.
const (
	alike byte = iota
	different
)

// pack returns the groups without their servers, and those. The groups are left as they are.
func pack(groups []model.Group) ([]model.Group, []packed) {
	if len(groups) == 0 {
		return groups, nil
	}
	bare, servers := slices.Clone(groups), make([]packed, len(groups))
	for i := range bare {
		servers[i] = packServers(bare[i].Servers)
		bare[i].Servers = nil
	}
	return bare, servers
}

func packServers(servers []model.Server) packed {
	if len(servers) == 0 {
		return packed{}
	}
	p := packed{port: servers[0].Port, description: servers[0].Description}
	list := make([]byte, 0, 32*len(servers)) // An instance takes 28.
	list = binary.AppendUvarint(list, uint64(len(servers)))
	for i := range servers {
		s := &servers[i]
		list = appendText(appendText(list, s.ID), s.IP)
		list = binary.AppendVarint(binary.AppendVarint(list, int64(s.Type)), int64(s.Weight))
		if s.Port == p.port && s.Description == p.description {
			list = append(list, alike)
		} else {
			list = appendText(binary.AppendVarint(append(list, different), int64(s.Port)), s.Description)
		}
	}
	p.list = unique.Make(string(list))
	return p
}

// unpack returns the groups with their servers, which are the caller's.
func unpack(bare []model.Group, servers []packed) []model.Group {
	groups := slices.Clone(bare)
	for i := range min(len(groups), len(servers)) {
		groups[i].Servers = servers[i].unpack()
	}
	return groups
}

func (p packed) unpack() []model.Server {
	if p == (packed{}) {
		return nil
	}
	rest := reader(p.list.Value())
	servers := make([]model.Server, rest.length())
	for i := range servers {
		s := &servers[i]
		s.ID, s.IP = rest.text(), rest.text()
		s.Type, s.Weight = slbv1.ServerType(rest.number()), rest.number()
		s.Port, s.Description = p.port, p.description
		if rest.flag() == different {
			s.Port, s.Description = rest.number(), rest.text()
		}
	}
	return servers
}

func appendText(list []byte, text string) []byte {
	return append(binary.AppendUvarint(list, uint64(len(text))), text...)
}

// reader is what is left of a list. Its texts are parts of the list: nothing is copied.
type reader string

func (r *reader) flag() byte {
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

// length reads a number that isn't negative.
func (r *reader) length() int {
	n, shift := 0, 0
	for {
		b := r.flag()
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
		shift += 7
	}
}

// number undoes what binary.AppendVarint does.
func (r *reader) number() int32 {
	n := r.length()
	return int32(n>>1) ^ -int32(n&1)
}

func (r *reader) text() string {
	n := r.length()
	text := string((*r)[:n])
	*r = (*r)[n:]
	return text
}
