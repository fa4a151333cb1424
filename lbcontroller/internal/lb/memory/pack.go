package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"unique"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
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

// lists packs servers. Services with the same nodes have the same list packed one after the other: to compare it with the last ones is quicker than
// to make it, and takes no memory. The zero value is ready to use.
type lists struct {
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

// groups returns the groups without their servers, and those. The groups are left as they are.
func (l *lists) groups(groups []model.Group) ([]model.Group, []packed) {
	if len(groups) == 0 {
		return groups, nil
	}
	bare, servers := slices.Clone(groups), make([]packed, len(groups))
	for i := range bare {
		servers[i], _ = l.pack(bare[i].Servers)
		bare[i].Servers = nil
	}
	return bare, servers
}

// pack returns the servers as they are remembered, and a digest of the list.
func (l *lists) pack(servers []model.Server) (packed, [sha256.Size]byte) {
	if len(servers) == 0 {
		return packed{}, [sha256.Size]byte{}
	}
	p := packed{port: servers[0].Port, description: servers[0].Description}
	l.mu.Lock()
	recent := l.recent
	l.mu.Unlock()
	for _, known := range recent {
		if p.list = known.handle; p.holds(servers) {
			return p, known.sum
		}
	}
	text := p.text(servers)
	made := list{handle: unique.Make(text), sum: sha256.Sum256([]byte(text))}
	if p.list = made.handle; len(servers) >= longList {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.recent[l.next] = made
		l.next = (l.next + 1) % recentLists
	}
	return p, made.sum
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

// unpack returns the groups with their servers, which are the caller's.
func unpack(bare []model.Group, servers []packed, lists *model.Lists) []model.Group {
	groups := slices.Clone(bare)
	for i := range min(len(groups), len(servers)) {
		groups[i].Servers = servers[i].unpack(lists)
	}
	return groups
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
