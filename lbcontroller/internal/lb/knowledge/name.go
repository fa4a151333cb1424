package knowledge

import (
	"encoding/base64"
	"strings"
)

// entryBytes is what an entry takes besides its value and its name, which is there twice: in the data and among the managed fields.
const entryBytes = 10

// Shorten makes a text of a hash, as short as is safe: there is one for each Service.
func Shorten(hash []byte) string { return base64.RawURLEncoding.EncodeToString(hash[:15]) }

// Outdated is recorded as applied of a Service that is changed. It is no digest, so that the next leader looks at the Service at once.
const Outdated = "-"

func isDigest(value string) bool { return value != "" && value != Outdated }

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
