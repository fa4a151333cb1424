package knowledge

import (
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// Known is what is known of the cloud about a Service: one of the types below. It is never changed, only replaced.
type Known interface{ isKnown() }

// Nothing says that the cloud has to be read.
type Nothing struct{}

// Absent says that the Service has no load balancer.
type Absent struct {
	// Certain says that there is nothing anywhere: nothing was made for the Service yet, or it has given up all. That a
	// load balancer was looked for and not found is less: the cloud may still be at one whose creation was lost sight of,
	// and something may be on a user's.
	Certain bool
	// Released is the address of the load balancer that was given up, as long as the cache may not show that yet.
	Released string
}

// Trusted says that the cloud is recorded to have what has this digest. Nothing was read.
type Trusted struct{ Digest string }

// Servers are the server groups of the Service with their servers; the rest isn't known.
type Servers struct{ model.Observed }

// All is everything that there is.
type All struct {
	model.Observed
	// Own is the load balancer that was made for the Service, which gives it up for the one that it names. It is not remembered.
	Own model.Observed
	// ComparedFor is the digest of the configuration for which this was read: what the plan refuses then is refused for what was seen.
	ComparedFor string
}

// Refused says that the Service can't have the load balancer that it names.
type Refused struct {
	*reuse.Refusal
	// For is what the Service said. When it says something else, it is decided anew.
	For string
	// Meanwhile is what is known of what the Service has.
	Meanwhile Known
}

func (Nothing) isKnown() {}
func (Absent) isKnown()  {}
func (Trusted) isKnown() {}
func (Servers) isKnown() {}
func (All) isKnown()     {}
func (Refused) isKnown() {}

// Of is the knowledge of what was observed.
func Of(o model.Observed) Known {
	if o.ConfigKnown {
		return All{Observed: o}
	}
	return Servers{Observed: o}
}

// Now replaces what is there.
func Now(k Known, o model.Observed) Known {
	if all, ok := k.(All); ok && o.ConfigKnown {
		return All{Observed: o, ComparedFor: all.ComparedFor}
	}
	return Of(o)
}

// Meanwhile is what is known of what a Service has, whether it is refused something or not.
func Meanwhile(k Known) Known {
	if r, ok := k.(Refused); ok {
		return r.Meanwhile
	}
	return k
}

// Having replaces what is known of what a Service has.
func Having(k, has Known) Known {
	if r, ok := k.(Refused); ok {
		r.Meanwhile = has
		return r
	}
	return has
}

// There is what is known to be there; empty if that isn't known.
func There(k Known) model.Observed {
	switch k := Meanwhile(k).(type) {
	case Absent:
		if k.Certain {
			return model.Nothing()
		}
	case Servers:
		return k.Observed
	case All:
		return k.Observed
	}
	return model.Observed{}
}

// Released reports that a Service has nothing anywhere, and the address of what it has given up.
func Released(k Known) (address string, ok bool) {
	absent, _ := Meanwhile(k).(Absent)
	return absent.Released, absent.Certain
}

// Entry is what is remembered of a Service.
type Entry struct {
	// UID guards against another Service of the same name.
	UID   string
	Known Known
	// servers are those of Known while it is remembered.
	servers []packed
	// Named is the load balancer that the Service names, "" for one of its own.
	Named string
	// Noted is the digest of the configuration that was noted on the Service, "" if none was.
	Noted string
	// VerifyAt is when the cloud must be read again.
	VerifyAt time.Time
	// RefusedSince is when the Service was refused first; every look since then has refused it again.
	RefusedSince time.Time
	// Addresses are those bound to the instance, if they are published, and AddressesUntil is how long that is believed.
	// Nil if they weren't read.
	Addresses      []string
	AddressesUntil time.Time
	// doubts is how often the Service had been doubted when the entry was recalled.
	doubts uint64
}

// Renew returns the empty entry for what was read after e was recalled.
func Renew(e Entry) Entry { return Entry{Known: Nothing{}, doubts: e.doubts} }

// Holds returns the entry for what a Service has now, and the digest of the configuration that was noted on it. It is refused nothing.
func (e Entry) Holds(k Known, noted string) Entry {
	e.Known, e.Noted, e.RefusedSince = k, noted, time.Time{}
	return e
}

// Compared returns an entry without the doubts that there were when another was recalled: the cloud has been compared
// since. A doubt makes a refusal new.
func (e Entry) Compared(recalled Entry) Entry {
	e.doubts, e.RefusedSince = recalled.doubts, recalled.RefusedSince
	return e
}
