package knowledge

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"unique"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// packed are the servers of a server group as they are remembered. Services with the same nodes have the same servers
// but for port and description: they share one list, which goes with the last of them. 1 000 servers of a Service took
// 64 KiB.
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

// Packer packs servers. Services with the same nodes have the same list packed one after the other: to compare it with
// the last ones is quicker than to make it, and takes no memory. The zero value is ready to use.
type Packer struct {
	mu     sync.Mutex
	recent [recentLists]list
	next   int
}

const (
	// recentLists are enough for the first servers of new Services and all of them, of before and after a node event.
	recentLists = 4
	// longList is a list that is worth the comparison.
	longList = 16
)

// list is a packed list and a digest of it.
type list struct {
	handle unique.Handle[string]
	sum    [sha256.Size]byte
}

// pack returns an entry as it is remembered.
func (p *Packer) pack(e Entry) Entry {
	e.servers = nil
	e.Known = mapped(e.Known, func(groups []model.Group) {
		for i := range groups {
			one, _ := p.servers(groups[i].Servers)
			e.servers, groups[i].Servers = append(e.servers, one), nil
		}
	})
	return e
}

// unpack returns an entry that was remembered. Its servers are in lists.
func (e Entry) unpack(lists *model.Lists) Entry {
	e.Known = mapped(e.Known, func(groups []model.Group) {
		for i := range groups {
			groups[i].Servers = e.servers[i].unpack(lists)
		}
	})
	e.servers = nil
	return e
}

// mapped is what is known with changed server groups. The load balancer that is given up isn't remembered.
func mapped(k Known, change func([]model.Group)) Known {
	changed := func(o model.Observed) model.Observed {
		o.Groups = slices.Clone(o.Groups)
		change(o.Groups)
		return o
	}
	switch k := k.(type) {
	case Servers:
		return Servers{Observed: changed(k.Observed)}
	case All:
		return All{Observed: changed(k.Observed), ComparedFor: k.ComparedFor}
	case Refused:
		k.Meanwhile = mapped(k.Meanwhile, change)
		return k
	}
	return k
}

// Set are the servers of a group, for those who only count: Services with the same nodes have the same one.
type Set struct{ list unique.Handle[string] }

// Set returns the set of servers; that of none is the zero value.
func (p *Packer) Set(servers []model.Server) Set {
	one, _ := p.servers(servers)
	return Set{one.list}
}

// IDs are the ids of the servers.
func (s Set) IDs() []string {
	var ids []string
	for _, server := range (packed{list: s.list}).unpack(nil) {
		ids = append(ids, server.ID)
	}
	return ids
}

// Digest is a digest of servers but for the port and the description of the first one, and of those that have the same.
// The digest for Services with the same nodes is made once.
func (p *Packer) Digest(servers []model.Server) [sha256.Size]byte {
	_, sum := p.servers(servers)
	return sum
}

// servers returns the servers as they are remembered, and a digest of the list.
func (p *Packer) servers(servers []model.Server) (packed, [sha256.Size]byte) {
	if len(servers) == 0 {
		return packed{}, [sha256.Size]byte{}
	}
	one := packed{port: servers[0].Port, description: servers[0].Description}
	p.mu.Lock()
	recent := p.recent
	p.mu.Unlock()
	for _, known := range recent {
		if one.list = known.handle; one.holds(servers) {
			return one, known.sum
		}
	}
	text := one.text(servers)
	made := list{handle: unique.Make(text), sum: sha256.Sum256([]byte(text))}
	if one.list = made.handle; len(servers) >= longList {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.recent[p.next] = made
		p.next = (p.next + 1) % recentLists
	}
	return one, made.sum
}

// holds reports whether these are the servers.
func (p packed) holds(servers []model.Server) bool {
	if p.list == (unique.Handle[string]{}) {
		return false
	}
	rest := reader(p.list.Value())
	if rest.length() != len(servers) {
		return false
	}
	for i := range servers {
		s := &servers[i]
		if rest.text() != s.ID || rest.text() != s.IP || rest.number() != int32(s.Type) || rest.number() != s.Weight {
			return false
		}
		isAlike := s.Port == p.port && s.Description == p.description
		if (rest.flag() == alike) != isAlike || !isAlike && (rest.number() != s.Port || rest.text() != s.Description) {
			return false
		}
	}
	return true
}

// text returns the list.
func (p packed) text(servers []model.Server) string {
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
	return string(list)
}

func (p packed) unpack(lists *model.Lists) []model.Server {
	if p == (packed{}) {
		return nil
	}
	rest := reader(p.list.Value())
	servers := lists.Make(rest.length())
	for i := range servers {
		s := &servers[i]
		s.ID, s.IP = rest.text(), rest.text()
		s.Type, s.Weight = model.ServerType(rest.number()), rest.number()
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
