package record

import (
	"encoding/base64"
	"strings"
)

// entryBytes is what an entry takes besides its value and its name, which is there twice: in the data and among the managed fields.
const entryBytes = 10

// Entry is what is recorded of a Service.
type Entry struct {
	// Applied is a digest of the wanted backends and configuration that the cloud had; see Shorten. Outdated while they are changed.
	Applied string
	// On is the user's CLB on which that is; empty for a CLB that was made for the Service.
	On string
}

// Shorten makes a text of a hash, as short as is safe: there is one for each Service.
func Shorten(hash []byte) string { return base64.RawURLEncoding.EncodeToString(hash[:15]) }

// Outdated is recorded as applied of a Service that is changed. It is no digest, so that the next leader looks at the Service at once.
const Outdated = "-"

// changing is the entry while the Service is changed.
func (e Entry) changing() Entry { return Entry{Applied: Outdated} }

func saysApplied(value string) bool {
	applied := parse(value).Applied
	return applied != "" && applied != Outdated
}

// name is the key of a Service in the ConfigMap, where a slash can't be. Names of Services and namespaces have no dots.
func name(key string) string { return strings.Replace(key, "/", ".", 1) }

// isEntry reports whether a name is that of a Service; the others are memos.
func isEntry(name string) bool { return strings.Contains(name, ".") }

// bytesOf is about what an entry takes in the ConfigMap.
func bytesOf(name, value string) int {
	if value == "" {
		return 0
	}
	return 2*len(name) + len(value) + entryBytes
}

// String is what is written of an entry.
func (e Entry) String() string {
	if e == (Entry{}) {
		return ""
	}
	return strings.TrimSuffix(e.Applied+"."+e.On, ".")
}

func parse(value string) Entry {
	applied, on, _ := strings.Cut(value, ".")
	return Entry{Applied: applied, On: on}
}
