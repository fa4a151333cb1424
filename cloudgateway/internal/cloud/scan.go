package cloud

import (
	"bytes"
	"iter"
)

// members gives the names and values of an object in valid JSON. A map of them would cost more than all else in reading an answer.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for name, rest := next(object[1:]); len(name) > 1; name, rest = next(rest) {
			var value []byte
			if value, rest = next(rest); !yield(name[1:len(name)-1], value) {
				return
			}
		}
	}
}

// items gives those of a list in valid JSON.
func items(list []byte) iter.Seq[[]byte] {
	return func(yield func(item []byte) bool) {
		for item, rest := next(list[1:]); len(item) > 0 && yield(item); item, rest = next(rest) {
		}
	}
}

// next gives the first value within an object or a list, or of what is left of it; empty: there is none.
func next(within []byte) (value, rest []byte) {
	within = bytes.TrimLeft(within, " \t\r\n,:")
	depth := 0
	for i := 0; i < len(within); i++ {
		switch within[i] {
		case '"':
			for i++; i < len(within) && within[i] != '"'; i++ {
				if within[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return within[:i], within[i:]
			}
			continue
		default: // within a number, true, false or null
			continue
		}
		switch {
		case depth < 0:
			return within[:i], nil
		case depth == 0:
			end := min(i+1, len(within))
			return within[:end], within[end:]
		}
	}
	return within, nil
}
