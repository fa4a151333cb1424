package check

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// known reports fields of a message that this version of the protocol lacks. A caller that is newer than the gateway means something by them:
// a filter that was dropped would make the answer too broad, and an attribute that was dropped would not be set.
func (p *place) known(c *Request, m protoreflect.Message) {
	for _, number := range unknown(m.GetUnknown()) {
		name := protoreflect.Name(strconv.Itoa(int(number)))
		p.report(c, name, -1, "is not a field that this gateway knows; the gateway is older than its caller")
	}
}

// unknown are the numbers of the fields, each once.
func unknown(fields protoreflect.RawFields) []protowire.Number {
	var numbers []protowire.Number
	for len(fields) > 0 {
		number, _, length := protowire.ConsumeField(fields)
		if length < 0 {
			break // The parser lets no such thing in.
		}
		if !slices.Contains(numbers, number) && len(numbers) <= maxViolations {
			numbers = append(numbers, number)
		}
		fields = fields[length:]
	}
	return numbers
}
