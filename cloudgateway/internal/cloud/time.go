package cloud

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Time reads a time of ECS or VPC, with seconds or without. Nobody decides by what can't be read, so it is left out.
func Time(text string) *timestamppb.Timestamp {
	for _, layout := range []string{"2006-01-02T15:04Z", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(t)
		}
	}
	return nil
}
