package annotation

import "strings"

// IsID reports whether a text has the form of an id of the cloud. Nothing can be asked about one that hasn't.
func IsID(text string) bool {
	const longest = 64
	odd := strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
	return text != "" && len(text) <= longest && !odd
}
